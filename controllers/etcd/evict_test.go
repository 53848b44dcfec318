package etcd

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/fleet"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

// budget chooses the pods with that label.
func budget(name, instance string) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name},
		Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"instance": instance}}}}
}

// tooManyBudgets is what the API server answers where several choose a pod.
func tooManyBudgets() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
		Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."}}
}

// What keeps a pod from being evicted is named, with the way out, when time alone does not end it.
func TestAnEvictionThatIsBlockedIsExplained(t *testing.T) {
	spent := apierrors.NewTooManyRequests("it would violate the pod's disruption budget", 0)
	own, other, foreign := budget("a", "a"), budget("zone", "a"), budget("b", "b")
	for _, c := range []struct {
		name    string
		budgets []ctrlclient.Object
		answer  error
		asked   []time.Duration // when, since the first time
		want    membership.Step // what users are shown of the last; the zero Step of an error
		says    string
	}{
		{"two budgets", []ctrlclient.Object{own, other, foreign}, tooManyBudgets(), []time.Duration{0},
			membership.Step{Do: membership.Block, Reason: commonv1.ReasonEvictionBlocked},
			"PodDisruptionBudgets a, zone choose pod a-2, and Kubernetes evicts no pod that more than one of them chooses, so it cannot be " +
				"recreated: delete zone,"},
		{"a failure of the API server", []ctrlclient.Object{own, foreign}, tooManyBudgets(), []time.Duration{0}, membership.Step{},
			"evicting the pod of a-2"},
		{"none to spare", []ctrlclient.Object{own}, spent, []time.Duration{0, 29 * time.Second, 58 * time.Second},
			membership.Step{Do: membership.Wait}, "spares no pod yet"},
		{"none to spare for long", []ctrlclient.Object{own}, spent, []time.Duration{0, 20 * time.Second, 40 * time.Second, time.Minute},
			membership.Step{Do: membership.Block, Reason: commonv1.ReasonEvictionBlocked},
			"PodDisruptionBudget a has not spared pod a-2 for more than 1m0s"},
		{"none to spare now and long ago", []ctrlclient.Object{own}, spent, []time.Duration{0, time.Hour}, membership.Step{Do: membership.Wait},
			"spares no pod yet"},
		{"the budget is gone meanwhile", nil, spent, []time.Duration{0, 30 * time.Second, time.Minute}, membership.Step{Do: membership.Wait},
			"spares no pod yet"},
		{"another error", []ctrlclient.Object{own, other}, errors.New("connection refused"), []time.Duration{0}, membership.Step{},
			"connection refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a-2", UID: "p2", Labels: map[string]string{"instance": "a"}}}
			api := fake.NewClientBuilder().WithObjects(&pod).WithObjects(c.budgets...).WithInterceptorFuncs(interceptor.Funcs{
				SubResourceCreate: func(context.Context, ctrlclient.Client, string, ctrlclient.Object, ctrlclient.Object,
					...ctrlclient.SubResourceCreateOption) error {
					return c.answer
				}}).Build()
			clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
			a := effectsOn(api, builders.EtcdCluster("a").In("ns").Build(), pod)
			a.clock = clock
			evict := membership.Step{Do: membership.EvictPod, Member: "a-2"}
			var got membership.Step
			var err error
			for _, at := range c.asked {
				clock.SetTime(time.Unix(0, 0).Add(at))
				got, err = fleet.Outcome(evict, a.EvictPod(t.Context(), "a-2"))
			}
			if failed := c.want.Do == ""; failed != (err != nil) || failed && !strings.Contains(err.Error(), c.says) {
				t.Fatalf("got %v", err)
			}
			if err == nil && (got.Do != c.want.Do || got.Reason != c.want.Reason || !strings.Contains(got.Message, c.says) ||
				got.RequeueAfter == 0) {
				t.Errorf("got %+v", got)
			}
			if a.known.deleted.has("p2", clock.Now()) {
				t.Error("the pod is taken for gone")
			}
		})
	}
}

// An eviction that is cut off blocks the budget for minutes: one that was sent ends, and none is sent once the time of the act is over.
func TestAnEvictionThatWasSentIsNotCutOff(t *testing.T) {
	for _, c := range []struct {
		name         string
		before, sent bool // the act's time is over before the eviction is sent; it is sent
	}{
		{"the time of the act ends while the API server works", false, true},
		{"the time of the act is over", true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, end := context.WithCancel(t.Context())
			defer end()
			sent := false
			api := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{SubResourceCreate: func(ctx context.Context,
				_ ctrlclient.Client, _ string, _, _ ctrlclient.Object, _ ...ctrlclient.SubResourceCreateOption) error {
				sent = true
				end()
				if _, bounded := ctx.Deadline(); !bounded {
					t.Error("it may take for ever")
				}
				return ctx.Err()
			}}).Build()
			if c.before {
				end()
			}
			a := effectsOn(api, builders.EtcdCluster("a").Build(), corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a-2", UID: "p2"}})
			if err := a.EvictPod(ctx, "a-2"); sent != c.sent || (err == nil) != c.sent {
				t.Errorf("sent: %t, error: %v", sent, err)
			}
		})
	}
}
