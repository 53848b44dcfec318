package etcd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/fleet"
)

const (
	// evictionLimit is how long an eviction may take once it was sent: an admission webhook alone may take 30 s
	// (https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#timeouts).
	evictionLimit = 40 * time.Second
	// evictionPatience is how long a budget may refuse a pod before a human is called. All members are healthy then, so that the
	// budget spares one as soon as Kubernetes has counted the pods that are ready, which takes seconds.
	evictionPatience = time.Minute
	// refusalGap is the time after which a refusal is none of the former row: the pod was not asked for meanwhile.
	refusalGap = 30 * time.Second
	// maxBudgets bounds how many budgets of a namespace are looked through.
	maxBudgets = 500
)

// EvictPod sends an eviction only within the time of the act, and then waits for its end even beyond that. The API server notes the pod in
// the budget before it deletes the pod (pkg/registry/core/pod/storage/eviction.go): if an eviction is cut off in between, that note stays,
// and the budget allows no other eviction for two minutes. Another operator may act meanwhile: the budget still keeps the majority.
func (a *apiEffects) EvictPod(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), evictionLimit)
	defer done()
	return a.removePod(name, func(pod *corev1.Pod, exactly metav1.Preconditions) error {
		exactly.ResourceVersion = nil
		err := a.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{DeleteOptions: &metav1.DeleteOptions{Preconditions: &exactly}})
		switch {
		case apierrors.IsTooManyRequests(err): // the reply that a drain gets, too
			if a.known.refusals.note(*exactly.UID, a.clock.Now()) < evictionPatience {
				return fleet.ErrNoDisruptionAllowed
			}
			return a.refusedForLong(ctx, name)
		case isServerError(err):
			return a.severalBudgets(ctx, name, err)
		}
		return err
	})
}

// isServerError reports whether the API server says that it cannot do it. So it answers where several budgets choose a pod
// (pkg/registry/core/pod/storage/eviction.go), and gives no reason that distinguishes this from its own failures.
func isServerError(err error) bool {
	var answer apierrors.APIStatus
	return errors.As(err, &answer) && answer.Status().Code == http.StatusInternalServerError
}

// severalBudgets says which budgets choose a pod that the API server does not evict; the server's own error if it is one at most.
func (a *apiEffects) severalBudgets(ctx context.Context, pod string, refusal error) error {
	names, err := a.budgetsOf(ctx, pod)
	if err != nil {
		return errors.Join(refusal, err)
	}
	if len(names) < 2 {
		return refusal
	}
	others := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == a.cluster.Name })
	return blockedEviction(
		"PodDisruptionBudgets %s choose pod %s, and Kubernetes evicts no pod that more than one of them chooses, so it cannot be recreated: "+
			"delete %s, or have them choose other pods; the operator's own, %s, keeps the majority",
		strings.Join(names, ", "), pod, strings.Join(others, ", "), a.cluster.Name)
}

// refusedForLong says which budget spares a pod for longer than it takes Kubernetes to count.
func (a *apiEffects) refusedForLong(ctx context.Context, pod string) error {
	names, err := a.budgetsOf(ctx, pod)
	if err != nil {
		return err
	}
	if len(names) == 0 { // it was deleted meanwhile
		return fleet.ErrNoDisruptionAllowed
	}
	return blockedEviction(
		"PodDisruptionBudget %s has not spared pod %s for more than %s, so it cannot be recreated, although all members are healthy: "+
			"kubectl describe poddisruptionbudget says which pods it counts; repair those that are not ready, and see that kube-controller-manager "+
			"runs; or delete the pod",
		strings.Join(names, ", "), pod, evictionPatience)
}

// blockedEviction returns an EvictionBlockedError with that message.
func blockedEviction(format string, values ...any) error {
	return &fleet.EvictionBlockedError{Message: fmt.Sprintf(format, values...), RetryAfter: refusalGap / 3}
}

// budgetsOf returns the names of the budgets that choose a pod, in order. It asks the API server, as the cache keeps no more than
// the names of those that are not ours.
func (a *apiEffects) budgetsOf(ctx context.Context, pod string) ([]string, error) {
	var list policyv1.PodDisruptionBudgetList
	if err := a.APIReader.List(ctx, &list, ctrlclient.InNamespace(a.cluster.Namespace), ctrlclient.Limit(maxBudgets)); err != nil {
		return nil, fmt.Errorf("listing PodDisruptionBudgets: %w", err)
	}
	i := slices.IndexFunc(a.in.pods, func(p corev1.Pod) bool { return p.Name == pod })
	if i < 0 {
		return nil, fmt.Errorf("pod %q was not looked at", pod)
	}
	var names []string
	for _, budget := range list.Items {
		chooses, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err == nil && chooses.Matches(labels.Set(a.in.pods[i].Labels)) {
			names = append(names, budget.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// refusals are those of one pod, again and again.
type refusals struct {
	pod         types.UID
	first, last time.Time
}

// note that a budget has refused a pod. It returns for how long it does.
func (r *refusals) note(pod types.UID, now time.Time) time.Duration {
	if r.pod != pod || now.Sub(r.last) > refusalGap {
		*r = refusals{pod: pod, first: now}
	}
	r.last = now
	return now.Sub(r.first)
}
