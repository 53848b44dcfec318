package status

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

func TestWhatNeedsAHumanIsNamed(t *testing.T) {
	for _, c := range []struct {
		reason, kind, says string
		given              func(*fixture.Scene)
	}{
		{"a second master", commonv1.ConditionSplitBrain, "a-0 and a-2 take writes", func(s *fixture.Scene) { s.Nodes[2].Master = true }},
		{"masters of which none is recorded", commonv1.ConditionSplitBrain, "no record says which is right", func(s *fixture.Scene) {
			s.Nodes[1].Master = true
			s.Status.Replication = nil
		}},
		{"what awaits a decision, a full disk and too small a size or not", commonv1.ConditionDegraded, "annotate this object",
			func(s *fixture.Scene) {
				fixture.Refused(&s.Nodes[0])
				fixture.FencedAt(&s.Nodes[1], 90)
				fixture.MakeSilent(&s.Nodes[2])
				s.Nodes[1].Misconf = true
				s.Spec.Storage = &cachev1alpha1.RedisStorage{Size: resource.MustParse("1Gi")}
			}},
		{"a full disk", commonv1.ConditionDegraded, "a-1 cannot write to disk", func(s *fixture.Scene) { s.Nodes[1].Misconf = true }},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := fixture.Healthy(3)
			set := &appsv1.StatefulSet{}
			set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{}}
			set.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests = fixture.StorageOf("2Gi")
			reported := func() (bool, string) {
				next := s.Situation().Plan()
				list := New(s.Redis, Inputs{Situation: s.Situation(), Next: next, Set: set}).Conditions
				got := meta.FindStatusCondition(list, c.kind)
				return got.Status == "True", got.Message
			}
			if is, message := reported(); is {
				t.Errorf("of a healthy set: %s", message)
			}
			c.given(s)
			if is, message := reported(); !is || !strings.Contains(message, c.says) {
				t.Errorf("%t: %s", is, message)
			}
		})
	}
}

// What a script does to the master is said once: the message is the same for as long as it lasts.
func TestABusyMasterIsReported(t *testing.T) {
	s := fixture.Healthy(3)
	fixture.MakeErroring(&s.Nodes[0], wire.Busy)
	s.Nodes[0].ErroringSince = fixture.Noon
	reported := func(after time.Duration) metav1.Condition {
		s.Nodes[0].ErroringFor = after
		next := s.Situation().Plan()
		status := New(s.Redis, Inputs{Situation: s.Situation(), Next: next, Set: &appsv1.StatefulSet{}})
		if got := status.Nodes[0].State; got != cachev1alpha1.RedisBusy {
			t.Errorf("the node is %s", got)
		}
		return *meta.FindStatusCondition(status.Conditions, commonv1.ConditionAvailable)
	}
	first, later := reported(time.Second), reported(time.Hour)
	if first.Status != metav1.ConditionFalse || first.Reason != commonv1.ReasonMasterBusy {
		t.Errorf("got %s %s", first.Status, first.Reason)
	}
	for _, words := range []string{"a-0", "2026-01-02T12:00:00Z", "SCRIPT KILL", "FUNCTION KILL", "SHUTDOWN NOSAVE", "delete the pod a-0"} {
		if !strings.Contains(first.Message, words) {
			t.Errorf("the message lacks %q: %s", words, first.Message)
		}
	}
	if first.Message != later.Message {
		t.Errorf("the message has changed to %s", later.Message)
	}
}

func TestWhatCannotBeReadIsReported(t *testing.T) {
	s := fixture.Healthy(3)
	s.Nodes[2].View = wire.View{Answer: wire.Silent, Unreadable: `run_id in INFO is "x", not 40 hexadecimal digits`}
	p := unreadable(s.World)
	if p == nil || p.Reason != commonv1.ReasonUnreadableReply ||
		!strings.Contains(p.Message, `(a-2: run_id in INFO is "x", not 40 hexadecimal digits)`) {
		t.Errorf("got %+v", p)
	}
	if p := unreadable(fixture.Healthy(3).World); p != nil {
		t.Errorf("nothing is wrong, and it says %+v", p)
	}
}
