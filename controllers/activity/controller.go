// Package activity runs Activity objects, each command at most once per attempt:
// types → resources → attempt → controller → outcome and status.
package activity

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/once"
)

// +kubebuilder:rbac:groups=ego.mainstay-operator.io,resources=activities,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups=ego.mainstay-operator.io,resources=activities/status,verbs=get;patch
// +kubebuilder:rbac:groups=ego.mainstay-operator.io,resources=activities/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods/log,verbs=get
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler runs Activity objects.
type Reconciler struct {
	converge.Converger
	// Output reads what a command printed.
	Output Output
	// Clock gives the time at which a result was noted, and when a deadline, a backoff or a ttl has run out.
	Clock clock.PassiveClock
	// Users reads the ConfigMaps that say which uid a named user has.
	Users converge.ContentReader
	// DefaultImage is what an object that names no image starts with.
	DefaultImage string
	// GuardImage holds the guard, as /guard; when it is empty, the shell of the command's image guards it.
	GuardImage string
}

// Reconcile runs one pass over one Activity.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return converge.Reconcile(ctx, &r.Converger, req, &egov1.Activity{}, r.reconcile)
}

func (r *Reconciler) reconcile(ctx context.Context, a *egov1.Activity, save converge.SaveStatus) (ctrl.Result, error) {
	pods, err := r.ListPods(ctx, a, appName)
	if err != nil {
		return ctrl.Result{}, err
	}
	finished := a.Status.Prosta.Finished()
	now := r.Clock.Now() // of the whole pass: what it finds too early is what it is woken for
	pod, err := r.advance(ctx, a, attemptOf(currentAttempt(a)).Cached(pods), now, save)
	updateStatus(a, pod) // also after an error: it says what stands
	if reportUnknownUser(a, err) {
		err = nil // its deadline runs all the same
	}
	if err != nil { // what blocks may be a pod of ours, whose end is long recorded
		return ctrl.Result{}, errors.Join(err,
			r.cleanUpPods(ctx, client.ObjectKeyFromObject(a), cleanupCandidates(a, once.ReplaceCached(pods, pod))))
	}
	if err := save(ctx); err != nil { // before the finalizers go: they are what keeps the result
		return ctrl.Result{}, err
	}
	if !finished && a.Status.Prosta.Finished() {
		countRun(a)
	}
	if err := r.labelAndMark(ctx, a, pod); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.cleanUpPods(ctx, client.ObjectKeyFromObject(a), cleanupCandidates(a, once.ReplaceCached(pods, pod))); err != nil {
		return ctrl.Result{}, err
	}
	return r.expireOrRequeue(ctx, a, pod, now, save)
}

// advance takes one step after the other until nothing is left but to wait. The cache
// is enough to see that; a step itself is decided on a live read.
func (r *Reconciler) advance(ctx context.Context, a *egov1.Activity, pod *corev1.Pod, now time.Time, save converge.SaveStatus) (*corev1.Pod,
	error) {
	for live := false; ; {
		todo := nextStep(a, pod, now)
		var err error
		switch {
		case todo == once.Wait:
			return pod, nil
		case todo == stepJournal:
			if err = r.journalAttempt(ctx, a, now); err == nil {
				pod, live, err = nil, false, save(ctx)
			}
		case !live:
			pod, err = attemptOf(currentAttempt(a)).Live(ctx, r.APIReader, a.Namespace)
			live = true
		default:
			pod, err = r.executeStep(ctx, todo, a, pod, now, save)
			if err == nil && todo == once.Save && !currentAttempt(a).Prosta.Finished() {
				return pod, nil // put off
			}
		}
		if err != nil {
			return pod, fmt.Errorf("%s: %w", todo, err)
		}
	}
}

// journalAttempt writes the next attempt into the status, with the images it will run and
// the user it will run as. An attempt that is never to run needs no known user.
func (r *Reconciler) journalAttempt(ctx context.Context, a *egov1.Activity, now time.Time) error {
	if !a.Spec.Cancel && !startDeadlinePassed(a, now) {
		if err := r.resolveUser(ctx, a); err != nil {
			return err
		}
	}
	if a.Status.Image == "" { // once: a retry runs what the first attempt ran
		a.Status.Image = r.DefaultImage
		if a.Spec.Image != "" {
			a.Status.Image = a.Spec.Image
		}
	}
	number := int32(len(a.Status.Attempts)) + 1
	a.Status.Attempts = append(a.Status.Attempts, egov1.Attempt{
		Number: number, PodName: podName(a, number), GuardImage: r.GuardImage, StartMarked: true, Prosta: egov1.Pending})
	updateStatus(a, nil)
	return nil
}

// executeStep takes one step on the pod as it was just read, and returns the pod after it.
func (r *Reconciler) executeStep(ctx context.Context, todo once.Step, a *egov1.Activity, pod *corev1.Pod, now time.Time,
	save converge.SaveStatus) (*corev1.Pod, error) {
	switch todo {
	case once.Create:
		if err := r.resolveUser(ctx, a); err != nil { // journaled too late to start, and then given time
			return nil, err
		}
		pod = desiredPod(a, *currentAttempt(a))
		err := r.Create(ctx, pod, client.FieldOwner(converge.FieldManager))
		if conditions.AsksForLimits(err) {
			pod = desiredPod(a, *currentAttempt(a))
			addLimits(pod)
			err = r.Create(ctx, pod, client.FieldOwner(converge.FieldManager))
		}
		if err != nil {
			return nil, err
		}
		return pod, nil
	case once.JournalUID:
		currentAttempt(a).PodUID = pod.UID
		return pod, save(ctx)
	case once.Start:
		return pod, once.RemoveGate(ctx, &r.Converger, pod)
	case once.Stop:
		if err := r.Confirm(ctx, a); err != nil { // the user may have taken back the reason to stop it
			return pod, err
		}
		if err := once.Delete(ctx, r, pod); err != nil {
			return pod, err
		}
		return attemptOf(currentAttempt(a)).Live(ctx, r.APIReader, a.Namespace)
	case once.Save:
		if !r.noteResult(ctx, a, pod, now) {
			return pod, nil
		}
		if err := save(ctx); err != nil {
			return pod, err
		}
		countAttempt(currentAttempt(a))
		return pod, nil
	case once.Refuse:
		return nil, converge.NotOurs("Pod", pod)
	case once.Wait, stepJournal:
	}
	return pod, nil
}

// noteResult writes into the status how the attempt ended, and what it printed. It reports false, and writes nothing,
// while a later read of the node's log may bring the end of the output.
func (r *Reconciler) noteResult(ctx context.Context, a *egov1.Activity, pod *corev1.Pod, now time.Time) bool {
	var tail outputTail
	var err error
	before := currentAttempt(a).DeepCopy()
	setResult(a, pod, metav1.NewTime(now))
	if currentAttempt(a).ExitCode != nil && tailLimit(a) > 0 {
		tail, err = r.Output.Tail(ctx, pod, tailLimit(a))
		if readAgain(tail, err, pod, now) {
			*currentAttempt(a) = *before
			return false
		}
	}
	a.Status.OutputTail, a.Status.OutputTruncated, a.Status.OutputComplete = tail.text, tail.truncated, tail.complete
	switch attempt := currentAttempt(a); {
	case err != nil: // the result must not wait for ever
		attempt.Message += "; " + err.Error()
	case !ptr.Deref(tail.complete, true):
		attempt.Message += "; " + outputLost
	}
	updateStatus(a, pod)
	return true
}

// expireOrRequeue deletes a finished Activity whose ttl has run out, and otherwise asks to be
// woken when time alone will have changed what there is to do.
func (r *Reconciler) expireOrRequeue(ctx context.Context, a *egov1.Activity, pod *corev1.Pod, now time.Time,
	save converge.SaveStatus) (ctrl.Result, error) {
	if nextStep(a, pod, now) == once.Save { // put off for the sake of the output
		return ctrl.Result{RequeueAfter: outputRetry}, nil
	}
	if at, ok := expiry(a); !ok || now.Before(at) {
		return ctrl.Result{RequeueAfter: requeueAfter(a, now)}, nil
	}
	a.SetObservedGeneration(a.Generation)
	if err := save(ctx); err != nil { // afterwards there is nothing to save it in
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, once.Delete(ctx, r, a)
}

// SetupWithManager watches Activity objects, their pods, and the ConfigMaps that say who their users are.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	pods, err := corev1client.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("making the client that reads output: %w", err)
	}
	r.Output, r.Clock, r.Finalize = podLogs{pods}, clock.RealClock{}, r.finalize
	users, err := r.Users.Watch(mgr, &egov1.Activity{}, &egov1.ActivityList{}, awaitedConfigMaps)
	if err != nil {
		return err
	}
	return r.SetUpController(mgr, &egov1.Activity{}, appName, r.Options(&egov1.Activity{}), r, users)
}
