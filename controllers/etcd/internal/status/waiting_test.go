package status

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// A wait says what it waits for; without news for some minutes, also what it sees, until there is news.
func TestALongWaitSaysWhatItSees(t *testing.T) {
	var h History
	now := time.Unix(1000, 0)
	s := newSeen()
	s.w.Members[2].View, s.w.Members[2].Pod.HasRun, s.w.Members[2].Pod.Ready = membership.View{}, false, false
	s.next = membership.Step{Do: membership.Wait, Message: "waiting for a-2", RequeueAfter: time.Second}
	progress := func() string {
		t.Helper()
		s.e.Status = h.Report(s.inputs(), now)
		return meta.FindStatusCondition(s.e.Status.Conditions, commonv1.ConditionProgressing).Message
	}
	const seen = "the container of pod a-2 has not started"
	for _, c := range []struct {
		after time.Duration
		what  string
		says  bool
	}{{0, "waiting for a-2", false}, {waitPatience - 1, "waiting for a-2", false}, {1, "waiting for a-2", true},
		{time.Hour, "waiting for a-2", true},
		{time.Second, "waiting for a-1, a-2", false}, {waitPatience, "waiting for a-1, a-2", true}} {
		now = now.Add(c.after)
		s.next.Message = c.what
		if got := progress(); strings.Contains(got, seen) != c.says || !strings.Contains(got, c.what) {
			t.Errorf("%s later: %q", c.after, got)
		}
	}
}

// A claim without the operator's labels is not in its cache, and its member waits: a long wait names it, and the command that ends it.
func TestALongWaitNamesAClaimThatIsNotSeen(t *testing.T) {
	const command = "kubectl label persistentvolumeclaim data-a-2 app.kubernetes.io/instance=a " +
		"app.kubernetes.io/managed-by=mainstay-operator app.kubernetes.io/name=etcd"
	for _, c := range []struct {
		name    string
		arrange func(*seen)
		says    bool
	}{
		{"the claim of a member is not seen", func(s *seen) { s.w.Members[2].Pod.ClaimUID = "" }, true},
		{"the claim of each member is seen", func(*seen) {}, false},
		{"the member has no pod yet", func(s *seen) { s.w.Members[2].Pod = membership.Pod{} }, false},
		{"the member has no volume", func(s *seen) { s.w.Members[2].Pod.ClaimUID, s.e.Spec.Storage = "", nil }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var h History
			s := newSeen()
			s.e.Spec.Storage = &databasev1alpha1.EtcdStorage{Size: resource.MustParse("1Gi")}
			s.silence(2)
			for i := range s.w.Members {
				s.w.Members[i].Pod.ClaimUID = "claim"
			}
			c.arrange(s)
			s.next = membership.Step{Do: membership.Wait, Message: "waiting for a-2"}
			for _, now := range []time.Time{time.Unix(1000, 0), time.Unix(1000, 0).Add(waitPatience)} {
				s.e.Status = h.Report(s.inputs(), now)
			}
			got := meta.FindStatusCondition(s.e.Status.Conditions, progressing).Message
			if !strings.Contains(got, "no news") || strings.Contains(got, command) != c.says {
				t.Errorf("got %q", got)
			}
		})
	}
}

// An EtcdRestore has no conditions of pods: after some minutes its wait says what is seen of them, until there is news.
func TestAnEtcdRestoreThatWaitsForLongSaysWhatItSees(t *testing.T) {
	var h History
	now := time.Unix(1000, 0)
	s := newSeen()
	s.w.Request = &membership.Request{UID: "r"}
	s.w.Next = membership.Fetch{UID: "fetch", For: "r", MaxMinor: 6}
	unscheduled := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a-fetch"}, Status: corev1.PodStatus{Phase: corev1.PodPending,
		Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/1 nodes",
		}}}}
	for _, c := range []struct {
		name    string
		after   time.Duration
		arrange func()
		want    []string
		not     string
	}{
		{"at first it says what it waits for", 0, func() {}, []string{"waiting for the backup to be fetched"}, "no news"},
		{"shortly before that it says no more", waitPatience - 1, func() {}, []string{"waiting for the backup to be fetched"}, "no news"},
		{"after that it names the pod and what keeps it from starting", 1, func() {},
			[]string{"waiting for the backup to be fetched; no news for 3 minutes",
				"the pod of the backup has not reported a result", "pod a-fetch: ", "0/1 nodes"}, ""},
		{"a member that does not answer is named, too", 0, func() { s.silence(2); s.w.Members[2].Pod.Stopped = true },
			[]string{"the container of pod a-2 has ended"}, ""},
		{"news is said alone", time.Second, func() { s.w.Next.Deleting = true },
			[]string{"waiting for the former pod of the backup to end"}, "no news"},
		{"what a human must do is not a wait", waitPatience, func() {
			s.w.Next = membership.Fetch{UID: "fetch", For: "r", MaxMinor: 6, Permanent: true, Error: "NoSuchBucket"}
		},
			[]string{"cannot be fetched: NoSuchBucket"}, "no news"},
	} {
		now = now.Add(c.after)
		c.arrange()
		s.pods = []corev1.Pod{unscheduled}
		s.e.Status = h.Report(s.inputs(), now)
		got := s.e.Status.NextRestore
		if got == nil || got.RestoreUID != "r" {
			t.Fatalf("%s: got %+v", c.name, got)
		}
		for _, want := range c.want {
			if !strings.Contains(got.Message, want) {
				t.Errorf("%s: got %q", c.name, got.Message)
			}
		}
		if c.not != "" && strings.Contains(got.Message, c.not) {
			t.Errorf("%s: got %q", c.name, got.Message)
		}
	}
}
