package etcd

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/wire"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/volumes"
)

// silenceLimit is how long what was seen before is believed, where nothing but a server's silence speaks against it: a slow reply
// is no news, nor is an election. The plan believes each look.
const silenceLimit = 3 * time.Second

// isPartial reports whether a server whose container runs has not answered, or the list of members was not read.
func isPartial(w membership.World) bool {
	silent := w.Where(func(m membership.Member) bool {
		return m.Record != nil && m.Pod.Permit != "" && m.Pod.HasRun && !m.Pod.Stopped && !m.Pod.Deleting && !m.View.Answered
	})
	return len(silent) > 0 || !w.Listed
}

// isFleeting reports whether a look saw less than one shortly before, and no pod tells why: the status then stays as it was.
func (l looks) isFleeting(w membership.World, now time.Time) bool {
	gone := w.Where(func(m membership.Member) bool {
		return m.Record != nil && (m.Pod.UID == "" || m.Pod.Stopped || m.Pod.Deleting)
	})
	return isPartial(w) && len(gone) == 0 && now.Sub(l.full) < silenceLimit
}

// excuse gives members the time to choose a leader before a human is called.
func (l looks) excuse(next membership.Step, now time.Time) membership.Step {
	if next.Do == membership.Block && next.Reason == commonv1.ReasonNoQuorum && now.Sub(l.listed) < silenceLimit {
		next.Do = membership.Wait
	}
	return next
}

// workload is what Kubernetes has of the members.
type workload struct {
	set    *appsv1.StatefulSet // empty if there is none
	pods   []corev1.Pod
	growth volumes.Growth // of their volumes
	// certificates that clients are shown, with tls.
	certificates clientCertificates
	logins       config.Logins // with auth
	refusal      string        // why members' pods are refused; empty if they are not
}

// failure is what keeps the first pod that fails from starting; empty if none does.
func (w workload) failure() string { return cmp.Or(conditions.FirstFailure(w.pods), w.refusal) }

// newStatus is the status with what was observed. It leaves alone what a step has saved.
func newStatus(e *databasev1alpha1.EtcdCluster, s membership.Situation, next membership.Step, w workload) databasev1alpha1.EtcdClusterStatus {
	status := *e.Status.DeepCopy()
	status.Replicas = w.set.Status.Replicas
	status.Selector = parts.SelectorString(config.AppName, e.Name)
	status.Endpoint = fmt.Sprintf("%s:%d", s.ServiceHost(), wire.ClientPort)
	status.Binding = nil
	if w.logins.HaveBinding(s.Spec, e.Status.Membership) {
		status.Binding = &databasev1alpha1.EtcdBinding{Name: s.BindingName()}
	}
	leader, _ := s.Leader()
	status.Leader = leader.Name
	status.Members, status.ReadyReplicas = []databasev1alpha1.EtcdMember{}, 0
	for _, m := range s.Where(func(m membership.Member) bool { return m.Record != nil }) {
		one := databasev1alpha1.EtcdMember{
			Name: m.Name, ID: m.Record.ID, Role: role(m), Healthy: m.IsHealthy(), Alarms: slices.Compact(slices.Sorted(slices.Values(m.View.Alarms))),
		}
		if m.View.Version != (membership.Version{}) {
			one.Version = m.View.Version.String()
		}
		status.Members = append(status.Members, one)
		if m.IsVoter() && m.IsHealthy() && m.Pod.Ready { // before the latter the Service does not lead to it
			status.ReadyReplicas++
		}
	}
	status.Version, status.ClusterVersion = commonVersions(s)
	setConditions(e, &status, s, next, w)
	return status
}

func role(m membership.Member) databasev1alpha1.EtcdMemberRole {
	switch {
	case !m.View.Answered:
		return ""
	case m.View.IsLearner:
		return databasev1alpha1.EtcdLearner
	case m.IsLeader():
		return databasev1alpha1.EtcdLeader
	}
	return databasev1alpha1.EtcdVoter
}

// commonVersions returns the version that all members run and the one that they have agreed on; empty where they differ.
func commonVersions(s membership.Situation) (running, agreed string) {
	members := s.Where(func(m membership.Member) bool { return m.Record != nil })
	for i, m := range members {
		if i == 0 {
			running, agreed = m.View.Version.String(), m.View.ClusterVersion
		}
		if m.View.Version == (membership.Version{}) || m.View.Version.String() != running {
			running = ""
		}
		if m.View.ClusterVersion != agreed {
			agreed = ""
		}
	}
	return running, agreed
}

func setConditions(e *databasev1alpha1.EtcdCluster, status *databasev1alpha1.EtcdClusterStatus, s membership.Situation, next membership.Step, w workload) {
	list, generation, failure := &status.Conditions, e.Generation, w.failure()
	conditions.SetFromWorkload(list, generation, conditions.Workload{
		Generation:         w.set.Generation,
		ObservedGeneration: w.set.Status.ObservedGeneration,
		Desired:            s.Size,
		MinReady:           s.Size/2 + 1,
		Updated:            int32(len(s.Where(func(m membership.Member) bool { return m.Record != nil && !m.Pod.Outdated }))), //nolint:gosec // at most 5
		Ready:              status.ReadyReplicas,
		Total:              w.set.Status.Replicas,
		Failure:            failure,
		StartupWait:        conditions.FirstStartupWait(w.pods),
	})
	setAvailable(list, generation, s)
	volumes.SetResizing(list, generation, w.growth)
	if e.Spec.Storage != nil {
		volumes.RefuseShrinking(list, generation, e.Spec.Storage.Size, w.set)
	}
	setCertificatesInSync(e, list, w.certificates)
	setCredentialsInSync(e, list, s, next, w.logins)
	setProgress(list, generation, next, s.RequiresLogin && !s.Login().Required)
	setBlocked(list, generation, next, failure)
	setSpaceLow(list, e.Status.Conditions, generation, s)
	setUpdateAvailable(e, list, s)
	if e.Spec.Paused && next.IsRollout() && next.Do != membership.Wait {
		conditions.SetPausedChanges(list, generation, []string{next.Phrase()})
	}
	conditions.SetPaused(list, generation, e.Spec.Paused)
}

// setAvailable says whether reads and writes are served, which takes a majority, and no alarm.
func setAvailable(list *[]metav1.Condition, generation int64, s membership.Situation) {
	voters := len(s.Where(membership.Member.IsVoter))
	healthy := len(s.Where(func(m membership.Member) bool { return m.Record != nil && m.IsVoter() && m.IsHealthy() }))
	raised := func(kind string) bool {
		return slices.ContainsFunc(s.Alarms, func(a membership.Alarm) bool { return a.Type == kind })
	}
	serves, reason, message := false, commonv1.ReasonNoQuorum, "no majority of the voters is known to be healthy"
	switch {
	case voters == 0 || healthy <= voters/2:
	case raised(membership.AlarmCorrupt):
		reason, message = commonv1.ReasonDataCorrupt, "the data of members differs (alarm CORRUPT): neither reads nor writes are served"
	case raised(membership.AlarmNoSpace):
		reason, message = commonv1.ReasonNoSpace, "the quota is exceeded (alarm NOSPACE): reads are served, writes are refused"
	default:
		serves, reason, message = true, commonv1.ReasonQuorum, fmt.Sprintf("%d of %d voters are healthy, which is a majority", healthy, voters)
	}
	conditions.Set(list, generation, commonv1.ConditionAvailable, serves, reason, message)
}

// setProgress says what is under way. What was asked for is not everywhere before that has ended, also where each pod for itself
// is as it should be: between two minor versions, before a learner is a voter, or while etcd is open that is to require a login.
func setProgress(list *[]metav1.Condition, generation int64, next membership.Step, isOpen bool) {
	if !next.IsRollout() && (!isOpen || next.Do == membership.Block) {
		return
	}
	reason, message := commonv1.ReasonRollingOut, next.Phrase()
	if ready := meta.FindStatusCondition(*list, commonv1.ConditionReady); ready.Status != metav1.ConditionTrue {
		reason, message = ready.Reason, ready.Message+"; "+message
	}
	conditions.Set(list, generation, commonv1.ConditionReady, false, reason, message)
	conditions.Set(list, generation, commonv1.ConditionProgressing, true, reason, message)
}

// setBlocked tells what a human must decide, and what keeps a pod from starting, which may be the cause.
func setBlocked(list *[]metav1.Condition, generation int64, next membership.Step, failure string) {
	if next.Do != membership.Block {
		return
	}
	p := conditions.Problem{Reason: next.Reason, Message: next.Message, NeedsHuman: true}
	if failure != "" {
		p.Message += "; " + failure
	}
	conditions.SetProblem(list, nil, generation, &p)
}

// setUpdateAvailable says whether the operator knows a newer patch, or has another image for the same one, and how to move to it.
// It says nothing about an object that names its patch or its image.
func setUpdateAvailable(e *databasev1alpha1.EtcdCluster, list *[]metav1.Condition, s membership.Situation) {
	if e.Status.Membership == nil {
		return // nothing runs
	}
	chosen := e.Spec.Image
	if membership.IsExact(e.Spec.Version) {
		chosen = e.Status.TargetImage
	}
	latest, image := s.Update()
	how := conditions.BySettingImage
	if latest.String() != e.Status.TargetVersion {
		how = fmt.Sprintf("set spec.version to %q", latest)
	}
	conditions.SetUpdateAvailable(list, e.Generation, e.Status.TargetImage, chosen, image, how)
}
