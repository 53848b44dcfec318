package etcd

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/volumes"
)

// seen is what a status is made from, which a row changes.
type seen struct {
	e    *databasev1alpha1.EtcdCluster
	w    membership.World
	next membership.Step
	set  *appsv1.StatefulSet
	pods []corev1.Pod
	// growth of the volumes.
	growth volumes.Growth
	// certificates that clients are shown.
	certificates clientCertificates
	logins       config.Logins
}

// newSeen is a cluster of three at rest: a-0 leads.
func newSeen() *seen {
	s := &seen{
		e: &databasev1alpha1.EtcdCluster{
			ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "ns", Generation: 2},
			Spec:       databasev1alpha1.EtcdClusterSpec{Version: "3.6"},
			Status: databasev1alpha1.EtcdClusterStatus{TargetVersion: "3.6.16", TargetImage: "etcd:6",
				Membership: &databasev1alpha1.EtcdMembership{ClusterID: "c"}},
		},
		w:    membership.World{Listed: true},
		next: membership.Step{Do: membership.Idle},
		set:  &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Generation: 1}, Status: appsv1.StatefulSetStatus{ObservedGeneration: 1, Replicas: 3}},
	}
	for i := range uint64(3) {
		name, id := fmt.Sprintf("a-%d", i), 100+i
		s.w.Members = append(s.w.Members, membership.Member{
			Name:   name,
			Record: &databasev1alpha1.EtcdRecordedMember{Name: name, ID: membership.FormatID(id)},
			Listed: &membership.ListedMember{ID: id},
			Pod:    membership.Pod{UID: types.UID("pod-" + name), Permit: "{}", HasRun: true, Ready: true},
			View:   membership.View{Answered: true, ID: id, Leader: 100, Version: membership.Version{Minor: 6, Patch: 16}, ClusterVersion: "3.6"},
		})
	}
	return s
}

func (s *seen) silence(ordinals ...int) {
	for _, i := range ordinals {
		s.w.Members[i].View = membership.View{}
	}
}

// showCertificates has the cluster serve clients by TLS, and members lag behind.
func (s *seen) showCertificates(lagging ...string) {
	s.e.Spec.TLS = &databasev1alpha1.EtcdTLS{SecretName: "chosen"}
	i := pki.Identity{Certificate: []byte("c")}
	s.certificates = clientCertificates{pki.Certificates{Published: i, Wanted: i}, lagging}
}

// logIn has the cluster require a login, by a password that is published.
func (s *seen) logIn() {
	s.e.Spec.Auth = &databasev1alpha1.EtcdAuth{SecretName: "chosen"}
	s.e.Status.Login = &databasev1alpha1.EtcdLogin{Required: true, User: "application-a"}
	s.logins = config.Logins{TokenKey: "k", Published: config.Login{User: "application-a", Password: "p"}, Chosen: "p"}
}

// use has a member use so much of the quota, in percent, and its file be so large.
func (s *seen) use(used, size int64, ordinals ...int) {
	for _, i := range ordinals {
		s.w.Members[i].View.DBUsed, s.w.Members[i].View.DBSize = (used*(2<<30)+99)/100, size*(2<<30)/100 // the least of that share
	}
}

// warned has the status before say that somebody must act.
func (s *seen) warned(reason string) {
	meta.SetStatusCondition(&s.e.Status.Conditions, metav1.Condition{Type: commonv1.ConditionDegraded, Status: metav1.ConditionTrue, Reason: reason})
}

func (s *seen) block(reason string) {
	s.next = membership.Step{Do: membership.Block, Reason: reason, Message: "do this"}
}

func (s *seen) status() databasev1alpha1.EtcdClusterStatus {
	spec := config.Resolve(s.e, &appsv1.StatefulSet{}, []string{"etcd:5", "etcd:6", "etcd:7"})
	return newStatus(s.e, membership.Situation{Spec: spec, Status: &s.e.Status, World: s.w}, s.next, workload{set: s.set, pods: s.pods, growth: s.growth, certificates: s.certificates, logins: s.logins})
}

func TestConditions(t *testing.T) {
	const ready, available, progressing, degraded = commonv1.ConditionReady, commonv1.ConditionAvailable, commonv1.ConditionProgressing, commonv1.ConditionDegraded
	for _, c := range []struct {
		name    string
		arrange func(*seen)
		want    map[string]string // how the status, the reason and the message of a condition begin
	}{
		{"at rest", func(*seen) {}, map[string]string{
			ready: "True Replicas 3 of 3", available: "True Quorum 3 of 3", progressing: "False RolledOut", degraded: "False AsExpected"}},
		{"a member is silent", func(s *seen) {
			s.silence(2)
			s.next = membership.Step{Do: membership.Wait, Message: "waiting for a-2"}
		}, map[string]string{
			ready: "False Replicas 2 of 3 replicas ready; waiting for a-2", available: "True Quorum 2 of 3", progressing: "True Replicas 2 of 3 replicas ready; waiting for a-2"}},
		{"the Service does not lead to a member yet", func(s *seen) { s.w.Members[2].Pod.Ready = false }, map[string]string{
			ready: "False Replicas 2 of 3", available: "True Quorum 3 of 3"}},
		{"a majority is silent", func(s *seen) { s.silence(1, 2) }, map[string]string{available: "False NoQuorum"}},
		{"nobody lists the members", func(s *seen) {
			for i := range s.w.Members {
				s.w.Members[i].Listed = nil
			}
		}, map[string]string{available: "False NoQuorum"}},
		{"between two minor versions", func(s *seen) {
			s.next = membership.Step{Do: membership.Wait, Message: "waiting for a-2 to agree"}
		}, map[string]string{ready: "False RollingOut waiting for a-2 to agree", progressing: "True RollingOut waiting for a-2 to agree", available: "True"}},
		{"a learner is yet to be a voter", func(s *seen) {
			s.next = membership.Step{Do: membership.PromoteMember, Member: "a-2"}
		}, map[string]string{ready: "False RollingOut making a voter of a-2", progressing: "True RollingOut making a voter of a-2"}},
		{"a pod goes", func(s *seen) { s.next = membership.Step{Do: membership.DeletePod, Member: "a-2"} }, map[string]string{
			ready: "False RollingOut deleting the pod of a-2"}},
		{"maintenance is no rollout", func(s *seen) { s.next = membership.Step{Do: membership.Defragment, Member: "a-2"} }, map[string]string{
			ready: "True Replicas", progressing: "False RolledOut"}},
		{"nor is the lead that moves", func(s *seen) { s.next = membership.Step{Do: membership.MoveLeader, Member: "a-0"} }, map[string]string{
			ready: "True Replicas", progressing: "False RolledOut"}},
		{"the quota is exceeded", func(s *seen) {
			s.w.Alarms = []membership.Alarm{{ID: 101, Type: membership.AlarmNoSpace}}
		}, map[string]string{available: "False NoSpace the quota is exceeded"}},
		{"most of the quota is in use", func(s *seen) { s.use(80, 100, 1) }, map[string]string{
			ready: "True Replicas", available: "True Quorum", degraded: "True QuotaNearlyReached a-1 holds 1638 MiB of data, old revisions included, which is 80% of the quota of 2048 MiB"}},
		{"what counts is what is in use, not the file", func(s *seen) { s.use(79, 99, 1) }, map[string]string{degraded: "False AsExpected"}},
		{"the warning stays until there is room", func(s *seen) { s.warned(commonv1.ReasonQuotaNearlyReached); s.use(70, 100, 1) }, map[string]string{
			degraded: "True QuotaNearlyReached"}},
		{"also after an alarm was taken back", func(s *seen) { s.warned(commonv1.ReasonNoSpace); s.use(75, 100, 1) }, map[string]string{
			degraded: "True QuotaNearlyReached"}},
		{"and then ends", func(s *seen) { s.warned(commonv1.ReasonQuotaNearlyReached); s.use(69, 100, 1) }, map[string]string{degraded: "False AsExpected"}},
		{"another problem is no warning", func(s *seen) { s.warned(commonv1.ReasonDataLost); s.use(75, 100, 1) }, map[string]string{degraded: "False AsExpected"}},
		{"a human is asked for room also while the operator makes some", func(s *seen) {
			s.use(97, 100, 1)
			s.w.Alarms = []membership.Alarm{{ID: 101, Type: membership.AlarmNoSpace}}
			s.next = membership.Step{Do: membership.Compact, Member: "a-0"}
		}, map[string]string{ready: "False NoSpace", degraded: "True NoSpace a-1 holds"}},
		{"the data differs", func(s *seen) {
			s.w.Alarms = []membership.Alarm{{ID: 0, Type: membership.AlarmNoSpace}, {ID: 101, Type: membership.AlarmCorrupt}}
		}, map[string]string{available: "False DataCorrupt the data of members differs"}},
		{"the spec cannot be carried out", func(s *seen) { s.block(commonv1.ReasonInvalidSpec) }, map[string]string{
			ready: "False InvalidSpec do this", progressing: "False InvalidSpec do this", degraded: "True InvalidSpec do this", available: "True"}},
		{"no way to the version", func(s *seen) { s.block(commonv1.ReasonUpgradeBlocked) }, map[string]string{
			ready: "False UpgradeBlocked", progressing: "False UpgradeBlocked", degraded: "True UpgradeBlocked"}},
		{"a human must decide", func(s *seen) { s.block(commonv1.ReasonUnknownMember) }, map[string]string{
			ready: "False UnknownMember", progressing: "False UnknownMember", degraded: "True UnknownMember do this"}},
		{"what keeps a pod from starting may be the cause", func(s *seen) {
			s.block(commonv1.ReasonNoQuorum)
			s.silence(1, 2)
			s.pods = []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "a-1"}, Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "no node"}}}}}
		}, map[string]string{degraded: "True NoQuorum do this; pod a-1: cannot be scheduled: no node"}},
		{"a pause that holds a step back", func(s *seen) {
			s.e.Spec.Paused = true
			s.next = membership.Step{Do: membership.SetVersion, Version: "3.7.3", Image: "etcd:7"}
		}, map[string]string{
			ready:                    "False SpecPaused spec.paused holds back: making pods with version 3.7.3 (etcd:7)",
			progressing:              "False SpecPaused",
			commonv1.ConditionPaused: "True SpecPaused"}},
		{"a pause that holds nothing back", func(s *seen) { s.e.Spec.Paused = true }, map[string]string{ready: "True Replicas", commonv1.ConditionPaused: "True SpecPaused"}},
		{"a pause does not make a member answer", func(s *seen) {
			s.e.Spec.Paused = true
			s.silence(2)
			s.next = membership.Step{Do: membership.Wait, Message: "waiting for a-2"}
		}, map[string]string{ready: "False Replicas"}},
		{"the newest patch runs", func(*seen) {}, map[string]string{commonv1.ConditionUpdateAvailable: ""}},
		{"a newer patch", func(s *seen) { s.e.Status.TargetVersion, s.e.Status.TargetImage = "3.6.11", "etcd:v3.6.11" }, map[string]string{
			commonv1.ConditionUpdateAvailable: `True NewDefaultImage the operator's default is now etcd:6; set spec.version to "3.6.16" to move`,
			ready:                             "True Replicas"}},
		{"another image of the same patch", func(s *seen) { s.e.Status.TargetImage = "old/etcd:6" }, map[string]string{
			commonv1.ConditionUpdateAvailable: "True NewDefaultImage the operator's default is now etcd:6; set spec.image to move"}},
		{"a patch that was chosen", func(s *seen) {
			s.e.Spec.Version, s.e.Status.TargetVersion, s.e.Status.TargetImage = "3.6.11", "3.6.11", "etcd:v3.6.11"
		}, map[string]string{commonv1.ConditionUpdateAvailable: ""}},
		{"an image that was chosen", func(s *seen) { s.e.Spec.Image, s.e.Status.TargetImage = "mine", "mine" }, map[string]string{commonv1.ConditionUpdateAvailable: ""}},
		{"a volume is to grow", func(s *seen) {
			s.growth = volumes.Growth{Size: resource.MustParse("2Gi"), Undersized: []string{"a-1"}}
		}, map[string]string{
			commonv1.ConditionStorageResizing: "True Resizing the volumes of a-1 are to grow to 2Gi",
			ready:                             "False RollingOut the volumes of a-1", progressing: "True RollingOut the volumes of a-1", available: "True Quorum"}},
		{"what else is under way does not hide it", func(s *seen) {
			s.growth = volumes.Growth{Size: resource.MustParse("2Gi"), Undersized: []string{"a-1"}}
			s.next = membership.Step{Do: membership.Wait, Message: "waiting for a-2"}
		}, map[string]string{progressing: "True RollingOut the volumes of a-1 are to grow to 2Gi; waiting for a-2"}},
		{"a volume may not grow", func(s *seen) { s.growth.Refusal = "storage.size: no" }, map[string]string{
			commonv1.ConditionStorageResizing: "True RefusedByServer storage.size: no", ready: "False RefusedByServer", degraded: "True RefusedByServer storage.size: no"}},
		{"a human is told first what cannot wait", func(s *seen) {
			s.growth.Refusal = "storage.size: no"
			s.block(commonv1.ReasonUnknownMember)
		}, map[string]string{degraded: "True UnknownMember do this"}},
		{"volumes do not shrink", func(s *seen) {
			s.e.Spec.Storage = &databasev1alpha1.EtcdStorage{Size: resource.MustParse("1Gi")}
			s.set.Spec.VolumeClaimTemplates = claimTemplates("2Gi")
		}, map[string]string{degraded: "True InvalidSpec storage.size: volumes cannot shrink"}},
		{"no volume was ever to grow", func(*seen) {}, map[string]string{commonv1.ConditionStorageResizing: ""}},
		{"without tls there is no certificate", func(*seen) {}, map[string]string{commonv1.ConditionCertificatesInSync: ""}},
		{"every member shows the certificate", func(s *seen) { s.showCertificates() }, map[string]string{
			commonv1.ConditionCertificatesInSync: "True CertificatesLoaded", degraded: "False"}},
		{"a member does not show it yet", func(s *seen) { s.showCertificates("a-1") }, map[string]string{
			commonv1.ConditionCertificatesInSync: "False Reloading not known to use the certificate that was published last: a-1", ready: "True"}},
		{"the Secret is of no use", func(s *seen) {
			s.showCertificates()
			s.certificates.Problem = "there is no Secret"
		}, map[string]string{
			commonv1.ConditionCertificatesInSync: "False SecretUnusable tls.secretName: there is no Secret; until it is fixed the last good",
			degraded:                             "True SecretUnusable tls.secretName: there is no Secret", available: "True"}},
		{"the Secret is of no use, and a human must decide", func(s *seen) {
			s.showCertificates()
			s.certificates.Problem = "there is no Secret"
			s.block(commonv1.ReasonUnknownMember)
		}, map[string]string{degraded: "True UnknownMember do this"}},
		{"without auth there is no password", func(*seen) {}, map[string]string{commonv1.ConditionCredentialsInSync: ""}},
		{"the password is published", func(s *seen) { s.logIn() }, map[string]string{commonv1.ConditionCredentialsInSync: "True PasswordsAccepted", ready: "True"}},
		{"etcd is still open to all", func(s *seen) {
			s.logIn()
			s.e.Status.Login, s.logins.Published = nil, config.Login{}
			s.next = membership.Step{Do: membership.SetUser, User: "root"}
		}, map[string]string{commonv1.ConditionCredentialsInSync: "False Rotating", ready: "False RollingOut letting in user root", progressing: "True RollingOut"}},
		{"another password is under way", func(s *seen) { s.logIn(); s.logins.Chosen = "next" }, map[string]string{
			commonv1.ConditionCredentialsInSync: "False Rotating etcd is being told", ready: "True"}},
		{"the user before is let in, too", func(s *seen) {
			s.logIn()
			s.e.Status.Login.FormerUser, s.e.Status.Login.FormerUntil = "application-b", &metav1.Time{Time: time.Unix(0, 0)}
		}, map[string]string{commonv1.ConditionCredentialsInSync: "True PasswordsOverlap user application-b is let in, too, until 1970-01-01T00:00:00Z"}},
		{"a further password waits for it", func(s *seen) {
			s.logIn()
			s.logins.Chosen = "next"
			s.e.Status.Login.FormerUser, s.e.Status.Login.FormerUntil = "application-b", &metav1.Time{Time: time.Unix(0, 0)}
		}, map[string]string{commonv1.ConditionCredentialsInSync: "False Rotating the next password is taken when user application-b"}},
		{"the password's Secret is of no use", func(s *seen) {
			s.logIn()
			s.logins.Chosen, s.logins.Problem = "", "there is no Secret"
		}, map[string]string{commonv1.ConditionCredentialsInSync: "False SecretUnusable auth.secretName: there is no Secret; until it is fixed the last password stays",
			degraded: "True SecretUnusable auth.secretName"}},
		{"the operator is locked out", func(s *seen) { s.logIn(); s.block(commonv1.ReasonLockedOut) }, map[string]string{
			commonv1.ConditionCredentialsInSync: "False LockedOut do this", degraded: "True LockedOut do this"}},
		{"nothing runs yet", func(s *seen) {
			s.e.Status = databasev1alpha1.EtcdClusterStatus{}
			s.w = membership.World{}
		}, map[string]string{commonv1.ConditionUpdateAvailable: "", available: "False NoQuorum"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSeen()
			c.arrange(s)
			list := s.status().Conditions
			for kind, want := range c.want {
				got := ""
				if one := meta.FindStatusCondition(list, kind); one != nil {
					got = fmt.Sprintf("%s %s %s", one.Status, one.Reason, one.Message)
				}
				if !strings.HasPrefix(got, want) || want == "" && got != "" {
					t.Errorf("%s is %q, not %q", kind, got, want)
				}
			}
		})
	}
}

func TestMembersInTheStatus(t *testing.T) {
	s := newSeen()
	s.silence(2)
	s.w.Members[1].View.Alarms = []string{membership.AlarmNoSpace, membership.AlarmCorrupt, membership.AlarmNoSpace}
	got := s.status()
	if got.Leader != "a-0" || len(got.Members) != 3 || got.Members[0].Role != databasev1alpha1.EtcdLeader || got.Members[2].Role != "" || got.Members[2].Healthy {
		t.Errorf("got %+v", got.Members)
	}
	if alarms := got.Members[1].Alarms; !slices.Equal(alarms, []string{membership.AlarmCorrupt, membership.AlarmNoSpace}) {
		t.Errorf("a set in the status has each alarm once, in order: %v", alarms)
	}
	if got.Endpoint != "a.ns.svc:2379" {
		t.Errorf("the endpoint is host:port, as other kinds have it: %s", got.Endpoint)
	}
	if got.Version != "" || got.ClusterVersion != "" {
		t.Errorf("one does not tell its version: %q, %q", got.Version, got.ClusterVersion)
	}
}

func TestOneSlowLookIsNoNews(t *testing.T) {
	now := time.Unix(100, 0)
	lately, before := now.Add(-silenceLimit+1), now.Add(-silenceLimit)
	for _, c := range []struct {
		name    string
		full    time.Time
		arrange func(*seen)
		want    bool
	}{
		{"all was seen", lately, func(*seen) {}, false},
		{"one did not answer in time", lately, func(s *seen) { s.silence(2) }, true},
		{"nobody listed the members in time", lately, func(s *seen) { s.w.Listed = false }, true},
		{"it has been silent for a while", before, func(s *seen) { s.silence(2) }, false},
		{"it never answered", time.Time{}, func(s *seen) { s.silence(2) }, false},
		{"its container ended", lately, func(s *seen) { s.silence(2); s.w.Members[2].Pod.Stopped = true }, false},
		{"its pod is going", lately, func(s *seen) { s.silence(2); s.w.Members[2].Pod.Deleting = true }, false},
		{"its pod is gone", lately, func(s *seen) { s.silence(2); s.w.Members[2].Pod = membership.Pod{} }, false},
		{"it may not start yet", lately, func(s *seen) { s.silence(2); s.w.Members[2].Pod.Permit = "" }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSeen()
			c.arrange(s)
			if got := (looks{full: c.full}).isFleeting(s.w, now); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestAnElectionCallsNobody(t *testing.T) {
	now := time.Unix(100, 0)
	for _, c := range []struct {
		name, reason string
		listed       time.Time
		want         membership.Verb
	}{
		{"a majority was there a moment ago", commonv1.ReasonNoQuorum, now.Add(-silenceLimit + 1), membership.Wait},
		{"it has been away for a while", commonv1.ReasonNoQuorum, now.Add(-silenceLimit), membership.Block},
		{"what no election mends", commonv1.ReasonUnknownMember, now, membership.Block},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := (looks{listed: c.listed}).excuse(membership.Step{Do: membership.Block, Reason: c.reason}, now); got.Do != c.want {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestWhatWasSeenIsRemembered(t *testing.T) {
	var m memory
	s, first := newSeen(), time.Unix(100, 0)
	s.e.UID = "e"
	m.noteLook(s.e, s.w, first)
	s.silence(2)
	second := first.Add(time.Second)
	if got := m.noteLook(s.e, s.w, second); got != (looks{full: first, listed: second}) {
		t.Errorf("one was silent: got %v", got)
	}
	s.w.Listed = false
	if got := m.noteLook(s.e, s.w, second.Add(time.Second)); got != (looks{full: first, listed: second}) {
		t.Errorf("nobody listed the members: got %v", got)
	}
}
