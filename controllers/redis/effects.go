package redis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/command"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/children"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// effects are what a failover depends on besides the servers: its writes to the API server, and
// how time goes by. A test that simulates these and the servers controls every decision about the master.
// Roles on pods, growing volumes, annotations that are done with, and events are written without them.
type effects interface {
	// save writes the object's status, if no one has changed the object since it was read. If there is nothing to
	// write, it asks the API server: an operator that continues after a save knows that it was not replaced before.
	save(ctx context.Context) error
	// checkUnchanged asks the API server whether the object is still what the cache showed.
	checkUnchanged(ctx context.Context) error
	// checkStamps asks the API server whether the volumes' stamps are still what the cache showed.
	checkStamps(ctx context.Context) error
	// writeStamp writes on a node's volume what its data is worth.
	writeStamp(ctx context.Context, node string, s topology.Stamp) error
	// deletePod deletes exactly the pod that was looked at.
	deletePod(ctx context.Context, name string, options ...ctrlclient.DeleteOption) error
	// createSource makes the pod that serves the backup, unless it is there; deleteSource deletes exactly the one that was looked at.
	createSource(ctx context.Context) error
	deleteSource(ctx context.Context) error
	// route points the Service at the recorded master. led reports whether it does, also with an
	// error, which then concerns another child.
	route(ctx context.Context) (led bool, err error)
	// runAll runs all functions at once and returns when they have ended. One that panics ends nothing but itself.
	runAll(ctx context.Context, all []func())
	// awaitRetry waits before the next try. It fails when there is no time left.
	awaitRetry(ctx context.Context) error
}

// retryInterval is the time between two looks at a replica that must catch up within one act.
const retryInterval = 2 * time.Millisecond

// apiEffects has the effects on a real API server.
type apiEffects struct {
	// pass is not embedded: it has the effects, so an effect that were missing here would call itself.
	pass       *pass
	saveStatus converge.SaveStatus
}

func (a *apiEffects) save(ctx context.Context) error {
	before := a.pass.redis.ResourceVersion
	if err := a.saveStatus(ctx); err != nil {
		return err
	}
	if a.pass.redis.ResourceVersion == before {
		return a.checkUnchanged(ctx)
	}
	return nil
}

func (a *apiEffects) checkUnchanged(ctx context.Context) error {
	live := &cachev1alpha1.Redis{}
	if err := a.pass.APIReader.Get(ctx, ctrlclient.ObjectKeyFromObject(a.pass.redis), live); err != nil {
		return fmt.Errorf("reading the object: %w", err)
	}
	if live.UID != a.pass.redis.UID || live.ResourceVersion != a.pass.redis.ResourceVersion {
		return a.conflictError("the cache is behind")
	}
	return nil
}

func (a *apiEffects) checkStamps(ctx context.Context) error {
	claims, err := listClaims(ctx, a.pass.APIReader, a.pass.spec)
	if err != nil {
		return err
	}
	same := func(live *corev1.PersistentVolumeClaim, seen topology.Volume) bool {
		return live.UID == seen.Claim.UID && topology.ReadStamp(live.Annotations) == seen.Stamp
	}
	if !maps.EqualFunc(claims, a.pass.Volumes, same) {
		return a.conflictError("the cache is behind at a PersistentVolumeClaim")
	}
	return nil
}

// conflictError is the error that the API server gives to a write that is made from an outdated object.
func (a *apiEffects) conflictError(why string) error {
	return apierrors.NewConflict(cachev1alpha1.GroupVersion.WithResource("redis").GroupResource(), a.pass.redis.Name, errors.New(why))
}

func (a *apiEffects) writeStamp(ctx context.Context, node string, s topology.Stamp) error {
	v := a.pass.Volumes[node]
	next := v.Claim.DeepCopy()
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	maps.Copy(next.Annotations, s.Annotations())
	if err := a.pass.patchClaim(ctx, v.Claim, next); err != nil {
		return fmt.Errorf("writing epoch %d on PersistentVolumeClaim %q: %w", s.Epoch, next.Name, err)
	}
	a.pass.Volumes[node] = topology.Volume{Stamp: s, Claim: next}
	return nil
}

func (a *apiEffects) deletePod(ctx context.Context, name string, options ...ctrlclient.DeleteOption) error {
	m, _ := a.pass.Find(name)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: a.pass.redis.Namespace, Name: name}}
	return ctrlclient.IgnoreNotFound(a.pass.Delete(ctx, pod, append(options, ctrlclient.Preconditions{UID: &m.PodUID})...))
}

func (*apiEffects) runAll(ctx context.Context, all []func()) {
	command.All(ctx, "asking a Redis server", all)
}

func (*apiEffects) awaitRetry(ctx context.Context) error {
	pause := time.NewTimer(retryInterval)
	defer pause.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-pause.C:
		return nil
	}
}

// route writes the Service together with all other children. If the API server refuses one of them,
// the Service is still pointed at the master.
func (a *apiEffects) route(ctx context.Context) (led bool, err error) {
	a.pass.observed, err = a.pass.Converge(ctx, a.pass.redis, children.Desired(a.pass.childInputs())...)
	if err == nil {
		return true, nil
	}
	led, alsoErr := a.pass.applyRouteOnly(ctx)
	return led, errors.Join(err, alsoErr)
}
