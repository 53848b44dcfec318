package memcached

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// problems are all that Degraded can report, the most urgent first.
var problems = []struct {
	name, reason string
	arrange      func(*cachev1alpha1.Memcached, *world)
}{
	{"the Secret of the users is of no use", commonv1.ReasonSecretUnusable + " auth", func(_ *cachev1alpha1.Memcached, w *world) {
		w.usersUnusable = userRotation{published: userList{lines: []string{"a:1"}}, problem: "there is none"}.unusable()
	}},
	{"the Secret of the certificate is of no use", commonv1.ReasonSecretUnusable + " tls", func(_ *cachev1alpha1.Memcached, w *world) {
		good := certificate{problem: "there is none"}
		good.Certificate = []byte("c")
		w.certificateUnusable = good.inSync(nil).Unusable()
	}},
	{"a pod fails", commonv1.ReasonPodFailing, func(_ *cachev1alpha1.Memcached, w *world) { w.refusal = "quota" }},
	{"the rollout is overdue", commonv1.ReasonProgressDeadlineExceeded, func(m *cachev1alpha1.Memcached, w *world) {
		m.Status.Conditions = []metav1.Condition{{Type: commonv1.ConditionProgressing, Status: metav1.ConditionTrue}}
		w.now = time.Unix(1_000_000, 0)
	}},
}

// Of two problems, Degraded reports the more urgent one.
func TestTheMoreUrgentProblemIsReported(t *testing.T) {
	for i, first := range problems {
		for _, second := range problems[i:] {
			t.Run(first.name+" and "+second.name, func(t *testing.T) {
				m := newMemcached(nil)
				set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Generation: 1}, Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](2)}}
				set.Status.ObservedGeneration = 1
				w := world{set: set, proxy: &appsv1.Deployment{}}
				second.arrange(m, &w)
				first.arrange(m, &w)
				c := meta.FindStatusCondition(status(m, w).Conditions, commonv1.ConditionDegraded)
				if got := c.Reason + " " + c.Message; c.Status != metav1.ConditionTrue || !strings.HasPrefix(got, first.reason) {
					t.Errorf("%s: %s", c.Status, got)
				}
			})
		}
	}
}
