// Package status sets the status of an EtcdCluster from what a pass read and saw. It is pure.
package status

import (
	"cmp"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/wire"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/volumes"
)

// Inputs are what the status is made from.
type Inputs struct {
	Cluster   *databasev1alpha1.EtcdCluster
	Situation membership.Situation
	Next      membership.Step
	// Set is empty if there is no StatefulSet.
	Set *appsv1.StatefulSet
	// Pods are those of the members and of backups.
	Pods []corev1.Pod
	// Refusal is why members' pods are refused; empty if they are not.
	Refusal string
	// Growth is how far the members' volumes are.
	Growth volumes.Growth
	// Certificates are those that clients are shown, with tls. Lagging are the members that are not known to use the published one.
	Certificates pki.Certificates
	Lagging      []string
	Logins       config.Logins // with auth
}

// failure is what keeps the first pod that fails from starting, and what to do about a member that ends on its data; empty if none
// does.
func (i Inputs) failure() string {
	return cmp.Or(endingMember(i.Situation, i.Pods)+conditions.FirstFailure(i.Pods), i.Refusal)
}

// New is the status with what was observed. It leaves alone what a step has saved.
func New(in Inputs) databasev1alpha1.EtcdClusterStatus {
	s := in.Situation
	status := *in.Cluster.Status.DeepCopy()
	status.Replicas = in.Set.Status.Replicas
	status.Selector = parts.SelectorString(config.AppName, in.Cluster.Name)
	status.Endpoint = fmt.Sprintf("%s:%d", s.ServiceHost(), wire.ClientPort)
	status.Binding = nil
	if in.Logins.HaveBinding(s.Spec, in.Cluster.Status.Membership) {
		status.Binding = &databasev1alpha1.EtcdBinding{Name: s.BindingName()}
	}
	leader, _ := s.Leader()
	status.Leader = leader.Name
	status.Members, status.ReadyReplicas = []databasev1alpha1.EtcdMember{}, 0
	for _, m := range s.Where(isRecorded) {
		status.Members = append(status.Members, memberStatus(m))
		if m.IsVoter() && m.IsHealthy() && m.Pod.Ready { // before the latter the Service does not lead to it
			status.ReadyReplicas++
		}
	}
	status.Version, status.ClusterVersion = commonVersions(s)
	setConditions(&status, in)
	return status
}

func isRecorded(m membership.Member) bool { return m.Record != nil }

func memberStatus(m membership.Member) databasev1alpha1.EtcdMember {
	status := databasev1alpha1.EtcdMember{
		Name: m.Name, ID: m.Record.ID, Role: role(m), Healthy: m.IsHealthy(), Alarms: slices.Compact(slices.Sorted(slices.Values(m.View.Alarms))),
	}
	if m.View.Version != (membership.Version{}) {
		status.Version = m.View.Version.String()
	}
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
	members := s.Where(isRecorded)
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

func setConditions(status *databasev1alpha1.EtcdClusterStatus, in Inputs) {
	list, generation, s := &status.Conditions, in.Cluster.Generation, in.Situation
	updated := s.Where(func(m membership.Member) bool { return isRecorded(m) && !m.Pod.Outdated })
	workload := conditions.Workload{
		Generation:         in.Set.Generation,
		ObservedGeneration: in.Set.Status.ObservedGeneration,
		Desired:            s.Size,
		MinReady:           s.Size/2 + 1,
		Updated:            int32(len(updated)), //nolint:gosec // at most 5
		Ready:              status.ReadyReplicas,
		Total:              in.Set.Status.Replicas,
		Failure:            in.failure(),
		StartupWait:        conditions.FirstStartupWait(in.Pods),
	}
	problems := in.problemsByUrgency(workload)
	conditions.SetFromWorkload(list, generation, workload)
	conditions.SetDegraded(list, generation, problems...)
	setAvailable(list, generation, s)
	volumes.SetResizing(list, generation, in.Growth)
	conditions.Halt(list, generation, in.shrinking())
	if s.QuotaError != "" {
		conditions.Halt(list, generation, in.withoutRoom())
	}
	setCertificatesInSync(list, in)
	setCredentialsInSync(list, in)
	setProgress(list, in)
	if first := conditions.First(problems...); in.Next.Do == membership.Block || first != nil && first.Reason == commonv1.ReasonNoSpace {
		conditions.Halt(list, generation, first)
	}
	setUpdateAvailable(list, in)
	if in.Cluster.Spec.Paused && in.Next.IsRollout() && in.Next.Do != membership.Wait {
		conditions.SetPausedChanges(list, generation, []string{in.Next.Phrase()})
	}
	conditions.SetPaused(list, generation, in.Cluster.Spec.Paused)
}
