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
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fleet"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// apiEffects has the effects on a real API server.
type apiEffects struct {
	pass       *pass
	saveStatus converge.SaveStatus
}

func (a *apiEffects) Save(ctx context.Context) error {
	before := a.pass.Redis.ResourceVersion
	if err := a.saveStatus(ctx); err != nil {
		return err
	}
	if a.pass.Redis.ResourceVersion == before {
		return a.CheckUnchanged(ctx)
	}
	return nil
}

func (a *apiEffects) CheckUnchanged(ctx context.Context) error {
	return a.pass.CheckUnchanged(ctx, a.pass.Redis)
}

func (a *apiEffects) CheckStamps(ctx context.Context) error {
	claims, err := listClaims(ctx, a.pass.APIReader, a.pass.Spec)
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
	return apierrors.NewConflict(cachev1alpha1.GroupVersion.WithResource("redis").GroupResource(), a.pass.Redis.Name, errors.New(why))
}

func (a *apiEffects) WriteStamp(ctx context.Context, node string, s topology.Stamp) error {
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

func (a *apiEffects) DeletePod(ctx context.Context, name string, options ...ctrlclient.DeleteOption) error {
	m, _ := a.pass.Find(name)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: a.pass.Redis.Namespace, Name: name}}
	return ctrlclient.IgnoreNotFound(a.pass.Delete(ctx, pod, append(options, ctrlclient.Preconditions{UID: &m.PodUID})...))
}

func (*apiEffects) RunAll(ctx context.Context, all []func()) {
	command.All(ctx, "asking a Redis server", all)
}

func (*apiEffects) AwaitRetry(ctx context.Context) error {
	pause := time.NewTimer(fleet.RetryInterval)
	defer pause.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-pause.C:
		return nil
	}
}
