package redis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/panics"
)

// effects are what a failover depends on besides the servers: its writes to the API server, and
// how time goes by. Whoever plays these and the servers plays every decision about the master.
// Roles on pods, growing volumes, annotations that are done with, and events are written past them.
type effects interface {
	// save the object's status, if nobody has changed the object since it was read.
	save(ctx context.Context) error
	// unchanged asks the API server whether the object and the stamps are still what was read of a cache.
	unchanged(ctx context.Context) error
	// stamp writes on a node's volume what its data is worth.
	stamp(ctx context.Context, node string, s stamp) error
	// removePod deletes exactly the pod that was looked at.
	removePod(ctx context.Context, name string, options ...ctrlclient.DeleteOption) error
	// route points the Service at the master of record. led is true once it does, also beside an
	// error, which is then of another child.
	route(ctx context.Context) (led bool, err error)
	// together runs all of these and returns when they have ended. One that panics ends nothing but itself.
	together(ctx context.Context, all []func())
	// pause before the next try, until there is no time left.
	pause(ctx context.Context) error
}

// retryPause is between two looks at a replica that must catch up within one act.
const retryPause = 2 * time.Millisecond

// apiEffects has the effects on a real API server.
type apiEffects struct {
	*Reconciler
	redis *cachev1alpha1.Redis
	fleet *fleet
	set   *appsv1.StatefulSet
	write converge.SaveStatus
	// observed are the children, once clients were led to the master.
	observed converge.Observed
}

func (c *apiEffects) save(ctx context.Context) error { return c.write(ctx) }

func (c *apiEffects) unchanged(ctx context.Context) error {
	live := &cachev1alpha1.Redis{}
	if err := c.APIReader.Get(ctx, ctrlclient.ObjectKeyFromObject(c.redis), live); err != nil {
		return fmt.Errorf("reading the object: %w", err)
	}
	if live.UID != c.redis.UID || live.ResourceVersion != c.redis.ResourceVersion {
		return c.conflict("the cache is behind")
	}
	claims, err := listClaims(ctx, c.APIReader, c.redis)
	if err != nil {
		return err
	}
	same := func(live *corev1.PersistentVolumeClaim, seen volume) bool {
		return live.UID == seen.claim.UID && readStamp(live.Annotations) == seen.stamp
	}
	if !maps.EqualFunc(claims, c.fleet.volumes, same) {
		return c.conflict("the cache is behind at a PersistentVolumeClaim")
	}
	return nil
}

// conflict is the error that the API server gives to a write that is made from an outdated object.
func (c *apiEffects) conflict(why string) error {
	return apierrors.NewConflict(cachev1alpha1.GroupVersion.WithResource("redis").GroupResource(), c.redis.Name, errors.New(why))
}

func (c *apiEffects) stamp(ctx context.Context, node string, s stamp) error {
	v := c.fleet.volumes[node]
	next := v.claim.DeepCopy()
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	maps.Copy(next.Annotations, s.annotations())
	if err := c.patchClaim(ctx, c.redis, v.claim, next); err != nil {
		return fmt.Errorf("writing epoch %d on PersistentVolumeClaim %q: %w", s.epoch, next.Name, err)
	}
	c.fleet.volumes[node] = volume{stamp: s, claim: next}
	return nil
}

func (c *apiEffects) removePod(ctx context.Context, name string, options ...ctrlclient.DeleteOption) error {
	m, _ := c.fleet.find(name)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.redis.Namespace, Name: name}}
	return ctrlclient.IgnoreNotFound(c.Delete(ctx, pod, append(options, ctrlclient.Preconditions{UID: &m.podUID})...))
}

func (*apiEffects) together(ctx context.Context, all []func()) {
	var running sync.WaitGroup
	for _, one := range all {
		running.Go(func() {
			_ = panics.Recover(ctx, "asking a Redis server", func() error { one(); return nil }) // what it did not do is not done
		})
	}
	running.Wait()
}

func (*apiEffects) pause(ctx context.Context) error {
	pause := time.NewTimer(retryPause)
	defer pause.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-pause.C:
		return nil
	}
}

// route with all other children. Where the API server refuses one of them, clients are led
// to the master all the same.
func (c *apiEffects) route(ctx context.Context) (led bool, err error) {
	c.observed, err = c.Converge(ctx, c.redis, desired(c.redis, c.childInputs(c.redis, c.set, c.fleet))...)
	if err == nil {
		return true, nil
	}
	led, alsoErr := c.applyRouteOnly(ctx, c.redis)
	return led, errors.Join(err, alsoErr)
}
