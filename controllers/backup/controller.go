// Package backup makes backups of what other kinds hold: types → schedule, attempt → resources → outcome → status. One engine
// is for every kind of backup; Kind is what differs between them. The manager touches no data and reads no store's Secret: a pod
// does.
package backup

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/once"
)

// +kubebuilder:rbac:groups=database.mainstay-operator.io,resources=etcdbackups,verbs=get;list;watch
// +kubebuilder:rbac:groups=database.mainstay-operator.io,resources=etcdbackups/status,verbs=get;patch
// +kubebuilder:rbac:groups=database.mainstay-operator.io,resources=etcdbackups/finalizers,verbs=update
// +kubebuilder:rbac:groups=database.mainstay-operator.io,resources=etcdclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=cache.mainstay-operator.io,resources=redisbackups,verbs=get;list;watch
// +kubebuilder:rbac:groups=cache.mainstay-operator.io,resources=redisbackups/status,verbs=get;patch
// +kubebuilder:rbac:groups=cache.mainstay-operator.io,resources=redisbackups/finalizers,verbs=update
// +kubebuilder:rbac:groups=cache.mainstay-operator.io,resources=redis,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps,resources=statefulsets,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler makes the backups of one kind.
type Reconciler struct {
	converge.Converger
	Kind Kind
	// Clock says when a backup is due, and when a deadline or a backoff has run out.
	Clock clock.PassiveClock
	// Image is the operator's own, which holds the runner.
	Image string
	// Cluster names this cluster in manifests, as in Origin.Cluster.
	Cluster string
}

// Reconcile runs one pass over one object.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return converge.Reconcile(ctx, &r.Converger, req, r.Kind.newObject().(Object), r.reconcile)
}

// pass is one pass over one object.
type pass struct {
	*Reconciler
	b        Object
	save     converge.SaveStatus
	schedule *schedule
	now      time.Time // taken once per pass, so that the requeue time fits what the pass decided
	source   source
	notReady string // why the source cannot be read now; empty if it can
	invalid  error  // what is wrong with the spec
}

func (r *Reconciler) reconcile(ctx context.Context, b Object, save converge.SaveStatus) (ctrl.Result, error) {
	p := &pass{Reconciler: r, b: b, save: save, now: r.Clock.Now()}
	pods, err := r.ListPods(ctx, b, r.Kind.appName)
	if err != nil {
		return ctrl.Result{}, err
	}
	p.source, p.notReady, err = r.Kind.readSource(ctx, r.Client, types.NamespacedName{Namespace: b.GetNamespace(), Name: b.GetSourceName()})
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("reading what is to be backed up: %w", err)
	}
	p.source.cluster = r.Cluster
	missed := b.GetBackupStatus().Missed
	p.readSchedule()
	pod, err := p.advance(ctx, attemptOf(b.GetBackupStatus().Run).Cached(pods))
	p.updateStatus(pod) // also after an error: it says what the status has
	if err == nil {
		err = save(ctx)
	}
	if err == nil {
		p.reportMissed(missed)
	}
	err = errors.Join(err, r.cleanUp(ctx, b, once.ReplaceCached(pods, pod)), p.invalid)
	return ctrl.Result{RequeueAfter: requeueAfter(b, p.schedule, pod, p.now)}, err
}

// readSchedule reads the schedule. A schedule that cannot be read is never due; a run under way continues.
func (p *pass) readSchedule() {
	var err error
	var wrong *fieldError
	if p.schedule, err = parseSchedule(p.b.GetBackupOptions()); errors.As(err, &wrong) {
		p.invalid = converge.Invalid(wrong.field, "%s", wrong.Error())
		p.b.GetBackupStatus().Next = nil
	}
}

// updateStatus sets the conditions, as they are to be at the end of the pass: whatever is saved before must not turn them there and back.
func (p *pass) updateStatus(pod *corev1.Pod) {
	var invalid *conditions.Problem
	if p.invalid != nil {
		invalid = &conditions.Problem{Reason: commonv1.ReasonInvalidSpec, Message: p.invalid.Error()}
	}
	updateStatus(p.b, p.schedule, invalid, pod, p.notReady, p.now)
}

// advance takes one step after the other until nothing is left but to wait. The cache is enough to see that; a step itself is decided
// on a live read.
func (p *pass) advance(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	for live := false; ; {
		if !isUnderWay(p.b.GetBackupStatus().Run) {
			p.updateNext()
		}
		todo := nextStep(p.b, pod, p.notReady == "", p.now)
		var err error
		switch {
		case todo == once.Wait:
			p.updateNext()
			return pod, nil
		case todo == stepNewRun || todo == stepRetry:
			p.journal(todo)
			pod, live, err = nil, false, p.save(ctx)
		case todo == stepGiveUp:
			noteFailure(p.b)
			if err = p.save(ctx); err == nil {
				p.reportRun()
			}
		case !live:
			pod, err = attemptOf(p.b.GetBackupStatus().Run).Live(ctx, p.APIReader, p.b.GetNamespace())
			live = true
		default:
			pod, err = p.execute(ctx, todo, pod)
		}
		if err != nil {
			return pod, fmt.Errorf("%s: %w", todo, err)
		}
	}
}

// updateNext notes what is due next, unless the schedule cannot be read.
func (p *pass) updateNext() {
	if p.invalid == nil {
		updateNext(p.b, p.schedule, p.now, p.notReady)
	}
}

// journal writes the next attempt into the status, together with what is due after it.
func (p *pass) journal(todo once.Step) {
	status := p.b.GetBackupStatus()
	if todo == stepNewRun {
		status.Run = nextAttempt(p.b, status.Next.Time, 1, p.now, p.Image)
		p.updateNext()
	} else {
		last := status.Run
		status.Run = nextAttempt(p.b, last.ScheduledTime.Time, last.Attempt+1, p.now, p.Image)
		status.Run.Message, status.Run.Permanent = last.Message, last.Permanent // until this one says otherwise
	}
	p.updateStatus(nil)
}

// execute takes one step on the pod as it was just read, and returns the pod after it.
func (p *pass) execute(ctx context.Context, todo once.Step, pod *corev1.Pod) (*corev1.Pod, error) {
	run := p.b.GetBackupStatus().Run
	switch todo {
	case once.Create:
		return p.createPod(ctx)
	case once.JournalUID:
		run.PodUID = pod.UID
		return pod, p.save(ctx)
	case once.Start:
		return pod, once.RemoveGate(ctx, &p.Converger, pod)
	case once.Stop:
		run.Stopped, run.Message = true, lateMessage(p.b.GetBackupOptions(), pod)
		if err := p.save(ctx); err != nil {
			return pod, err
		}
		if err := once.Delete(ctx, p, pod); err != nil {
			return pod, err
		}
		return attemptOf(p.b.GetBackupStatus().Run).Live(ctx, p.APIReader, p.b.GetNamespace())
	case once.Save:
		noteOutcome(p.b, judge(run, pod, p.notReady), p.now)
		p.updateStatus(pod)
		if err := p.save(ctx); err != nil {
			return pod, err
		}
		p.Kind.countAttempt(run)
		p.reportRun()
		return pod, nil
	case once.Refuse:
		return nil, converge.NotOurs("Pod", pod)
	case once.Wait, stepNewRun, stepRetry, stepGiveUp:
	}
	return pod, nil
}

// createPod makes the pod of the current attempt. What the API server says against it is kept for when it is too late.
func (p *pass) createPod(ctx context.Context) (*corev1.Pod, error) {
	if err := p.Confirm(ctx, p.b); err != nil { // an older spec may keep fewer backups
		return nil, err
	}
	pod := desiredPod(p.b, p.Kind, p.source)
	if err := p.Create(ctx, pod, client.FieldOwner(converge.FieldManager)); err != nil {
		p.b.GetBackupStatus().Run.Message = conditions.Truncate(err.Error(), maxNote)
		return nil, err
	}
	return pod, nil
}
