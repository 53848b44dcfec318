package upgradeable

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

// minWriteInterval is the least time between two writes that differ only in the objects they name: hundreds of objects
// that lose their master together must not cause hundreds of writes.
const minWriteInterval = 5 * time.Second

// conflictRequeue is how soon a write that met a conflict is tried again.
const conflictRequeue = 100 * time.Millisecond

// refusedRequeue is how soon a hold is reported again after OLM did not let us report it: OLM grants the right to do
// so when it makes the Deployment, and may be late.
const refusedRequeue = time.Minute

// Reconciler keeps the condition Upgradeable of one OperatorCondition.
type Reconciler struct {
	// Client lists the objects from the cache and writes the condition.
	client.Client
	// APIReader reads the OperatorCondition, which the operator may not watch.
	APIReader client.Reader
	// Condition names the OperatorCondition.
	Condition types.NamespacedName
	// Tracker notes the passes while they run; nil where nothing asks for them.
	Tracker *converge.ReconcileTracker
	// Clock measures for how long an object has held the upgrade.
	Clock clock.PassiveClock

	holds         holds
	stretch       stretch
	reported      metav1.Condition // what OLM last got
	reportedAt    time.Time
	refusalLogged bool // it was logged that OLM gets no report
}

// Reconcile looks at all objects and reports to OLM what has changed.
func (r *Reconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	defer r.Tracker.Start(ctx, "OperatorCondition", r.Condition).End()
	changes, err := r.listChanges(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	now := r.Clock.Now()
	r.holds = r.holds.update(changes, now)
	holding, expired, nextExpiry := r.holds.split(now)
	r.stretch = r.stretch.update(len(holding) > 0, now)
	if len(holding) > 0 {
		nextExpiry = min(nextExpiry, r.stretch.nextChange(now))
	}
	next := newCondition(holding, expired, r.stretch.mayHold(), now)
	heldObjects.Set(heldBy(next, holding))
	switch {
	case next.Status == r.reported.Status && next.Message == r.reported.Message:
		return ctrl.Result{RequeueAfter: nextExpiry}, nil
	case next.Status == r.reported.Status && now.Sub(r.reportedAt) < minWriteInterval:
		return ctrl.Result{RequeueAfter: r.reportedAt.Add(minWriteInterval).Sub(now)}, nil
	}
	switch said, err := r.report(ctx, next); {
	case apierrors.IsConflict(err): // OLM writes it, too
		return ctrl.Result{RequeueAfter: conflictRequeue}, nil
	case err != nil:
		return ctrl.Result{}, err
	case !said && next.Status == metav1.ConditionFalse:
		return ctrl.Result{RequeueAfter: refusedRequeue}, nil
	}
	r.reported, r.reportedAt = next, now
	if next.Status == metav1.ConditionFalse { // a former leader may have held it before
		nextExpiry = min(nextExpiry, r.stretch.nextChange(now))
	}
	return ctrl.Result{RequeueAfter: nextExpiry}, nil
}

// heldBy is how many of the objects hold the upgrade under that condition.
func heldBy(c metav1.Condition, holding []string) float64 {
	if c.Status == metav1.ConditionTrue {
		return 0
	}
	return float64(len(holding))
}

// listChanges returns the changes that are under way, by object.
func (r *Reconciler) listChanges(ctx context.Context) (map[string]string, error) {
	var list cachev1alpha1.RedisList
	if err := r.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil { // they are only looked at
		return nil, fmt.Errorf("listing Redis: %w", err)
	}
	changes := map[string]string{}
	for i := range list.Items {
		note(changes, "Redis", &list.Items[i])
	}
	var clusters databasev1alpha1.EtcdClusterList
	if err := r.List(ctx, &clusters, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing EtcdClusters: %w", err)
	}
	for i := range clusters.Items {
		note(changes, "EtcdCluster", &clusters.Items[i])
	}
	return changes, nil
}

// note adds the change of an object, if one is under way.
func note(changes map[string]string, kind string, object client.Object) {
	if change := changeOf(object); change != "" {
		changes[fmt.Sprintf("%s %s/%s", kind, object.GetNamespace(), object.GetName())] = change
	}
}

// changeOf returns the change of an object of any kind that is under way, or "" if there is none.
func changeOf(object client.Object) string {
	switch o := object.(type) {
	case *cachev1alpha1.Redis:
		return redisChange(o)
	case *databasev1alpha1.EtcdCluster:
		return etcdChange(o)
	}
	return ""
}

// report writes the condition for OLM, and returns false if OLM does not ask, which it logs once. That nothing holds is then tried again
// only when there is something else to say.
func (r *Reconciler) report(ctx context.Context, next metav1.Condition) (said bool, err error) {
	err = r.writeCondition(ctx, next)
	if !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
		return err == nil, err
	}
	if !r.refusalLogged {
		r.refusalLogged = true
		log.FromContext(ctx).Info("OLM gets no report when an upgrade may come", "operatorCondition", r.Condition.String(), "why", err.Error())
	}
	return false, nil
}

func (r *Reconciler) writeCondition(ctx context.Context, next metav1.Condition) error {
	var object operatorsv2.OperatorCondition
	if err := r.APIReader.Get(ctx, r.Condition, &object); err != nil {
		return fmt.Errorf("reading the OperatorCondition: %w", err)
	}
	before := object.DeepCopy()
	said := meta.FindStatusCondition(object.Spec.Conditions, next.Type)
	if said != nil && said.Status == metav1.ConditionFalse && next.Status == metav1.ConditionFalse {
		r.stretch = r.stretch.startedBy(said.LastTransitionTime.Time)
	}
	if !meta.SetStatusCondition(&object.Spec.Conditions, next) { // a former leader has said it
		return nil
	}
	// The patch replaces the whole list: it must not overwrite one that somebody else has changed.
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Patch(ctx, &object, patch, client.FieldOwner(converge.FieldManager)); err != nil {
		return fmt.Errorf("writing the OperatorCondition: %w", err)
	}
	return nil
}

// SetupWithManager starts the controller. It runs in the leader alone: once at the start, then whenever an object
// starts or ends a change that holds.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	everything := func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: r.Condition}}
	}
	start := source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		queue.Add(reconcile.Request{NamespacedName: r.Condition})
		return nil
	})
	return ctrl.NewControllerManagedBy(mgr).Named("upgradeable").
		Watches(&cachev1alpha1.Redis{}, handler.EnqueueRequestsFromMapFunc(everything), builder.WithPredicates(holdChanges())).
		Watches(&databasev1alpha1.EtcdCluster{}, handler.EnqueueRequestsFromMapFunc(everything), builder.WithPredicates(holdChanges())).
		WatchesRawSource(start).
		WithOptions(converge.Options()).
		Complete(r)
}

// holdChanges lets only those events through that may change the condition.
func holdChanges() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { return changeOf(e.Object) != "" },
		UpdateFunc:  func(e event.UpdateEvent) bool { return (changeOf(e.ObjectOld) == "") != (changeOf(e.ObjectNew) == "") },
		DeleteFunc:  func(e event.DeleteEvent) bool { return changeOf(e.Object) != "" },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// FromEnv returns the name of this operator's own OperatorCondition: OLM sets it in the environment and keeps the
// object in the namespace where the operator runs. No name means that OLM did not install the operator.
func FromEnv(namespace string) (types.NamespacedName, error) {
	name := os.Getenv("OPERATOR_CONDITION_NAME")
	if name == "" {
		return types.NamespacedName{}, nil
	}
	if namespace == "" {
		return types.NamespacedName{},
			errors.New("OPERATOR_CONDITION_NAME is set, which OLM does for a manager that runs as a ServiceAccount, and this one does not: unset it")
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}
