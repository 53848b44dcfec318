package etcd

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/fleet"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

// apiEffects has the effects of a fleet on a real API server.
type apiEffects struct {
	*object
	saveStatus converge.SaveStatus
	// unconfirmed says that the object is not known to be what the API server has.
	unconfirmed bool
}

func (a *apiEffects) Save(ctx context.Context) error {
	err := a.saveStatus(ctx)
	a.unconfirmed = err != nil
	return err
}

func (a *apiEffects) Confirm(ctx context.Context) error {
	err := a.Converger.Confirm(ctx, a.cluster)
	a.unconfirmed = err != nil
	return err
}

func (*apiEffects) NewID() string { return strings.ToLower(rand.Text()) }

func (a *apiEffects) DeletePod(ctx context.Context, name string, asSeen bool) error {
	return a.removePod(name, func(pod *corev1.Pod, exactly metav1.Preconditions) error {
		if !asSeen {
			exactly.ResourceVersion = nil
		}
		err := a.Delete(ctx, pod, ctrlclient.Preconditions(exactly))
		if asSeen && apierrors.IsConflict(err) {
			return fleet.ErrPodChanged
		}
		return err
	})
}

// removePod removes exactly the pod that was looked at. One that is gone is no error.
func (a *apiEffects) removePod(name string, remove func(*corev1.Pod, metav1.Preconditions) error) error {
	for i := range a.in.pods {
		if a.in.pods[i].Name != name {
			continue
		}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: a.cluster.Namespace, Name: name}}
		if err := ctrlclient.IgnoreNotFound(remove(pod, metav1.Preconditions{UID: &a.in.pods[i].UID,
			ResourceVersion: &a.in.pods[i].ResourceVersion})); err != nil {
			return err
		}
		a.known.deleted.note(a.in.pods[i].UID, a.clock.Now())
	}
	return nil
}

func (a *apiEffects) WritePermit(ctx context.Context, name, permit string, claim types.UID) error {
	if err := a.markClaim(ctx, name, claim); err != nil {
		return err
	}
	for i := range a.in.pods {
		if a.in.pods[i].Name != name {
			continue
		}
		next := a.in.pods[i].DeepCopy()
		if next.Annotations == nil {
			next.Annotations = map[string]string{}
		}
		next.Annotations[config.AnnotationPermit] = permit
		// The version in the patch keeps it from a pod that has come in its place.
		patch := ctrlclient.MergeFromWithOptions(&a.in.pods[i], ctrlclient.MergeFromWithOptimisticLock{})
		err := a.Patch(ctx, next, patch, ctrlclient.FieldOwner(converge.FieldManager))
		if ctrlclient.IgnoreNotFound(err) != nil {
			return fmt.Errorf("permitting pod %q to start: %w", name, err)
		}
	}
	return nil
}

// readClaim asks the API server for the claim of a pod, as the cache may have it as it was before, or the one that was there before.
func (a *apiEffects) readClaim(ctx context.Context, pod string) (*corev1.PersistentVolumeClaim, error) {
	claim, key := &corev1.PersistentVolumeClaim{}, ctrlclient.ObjectKey{Namespace: a.cluster.Namespace,
		Name: converge.ClaimName(config.DataVolume, pod)}
	if err := a.APIReader.Get(ctx, key, claim); err != nil {
		return nil, fmt.Errorf("reading the claim of pod %q: %w", pod, err)
	}
	return claim, nil
}

func (a *apiEffects) ConfirmClaim(ctx context.Context, pod string, want types.UID) error {
	claim, err := a.readClaim(ctx, pod)
	if apierrors.IsNotFound(err) || err == nil && (claim.UID != want || !claim.DeletionTimestamp.IsZero()) {
		return fleet.ErrClaimGoes
	}
	return err
}

// markClaim notes on the claim that a member starts on its volume. It keeps the version that was written, because the pass writes the
// claim's owners over it next.
func (a *apiEffects) markClaim(ctx context.Context, pod string, want types.UID) error {
	if a.cluster.Spec.Storage == nil {
		return nil
	}
	claim, err := a.readClaim(ctx, pod)
	if err != nil {
		return err
	}
	if claim.UID != want {
		return fmt.Errorf("permitting pod %q to start: the cache is behind at PersistentVolumeClaim %q", pod, claim.Name)
	}
	token := a.cluster.Status.Membership.Token
	if claim.Annotations[config.AnnotationData] != token {
		next := claim.DeepCopy()
		metav1.SetMetaDataAnnotation(&next.ObjectMeta, config.AnnotationData, token)
		if err := a.PatchClaim(ctx, claim, next); err != nil {
			return err
		}
		claim = next
	}
	a.in.claims[pod] = claim
	return nil
}
