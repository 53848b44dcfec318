package converge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/volumes"
)

// ListClaims returns the PersistentVolumeClaims of one volume of an object's StatefulSet, by the pod's name, as this reader has
// them: also those whose pod does not exist now.
func ListClaims(ctx context.Context, reader client.Reader, owner types.NamespacedName, kind,
	volume string) (map[string]*corev1.PersistentVolumeClaim, error) {
	var list corev1.PersistentVolumeClaimList
	err := reader.List(ctx, &list, client.InNamespace(owner.Namespace), client.MatchingLabels(parts.Labels(kind, owner.Name)))
	if err != nil {
		return nil, fmt.Errorf("listing PersistentVolumeClaims: %w", err)
	}
	found := map[string]*corev1.PersistentVolumeClaim{}
	for i := range list.Items {
		if pod, is := strings.CutPrefix(list.Items[i].Name, ClaimName(volume, "")); is {
			found[pod] = &list.Items[i]
		}
	}
	return found, nil
}

// ClaimName is the name that a StatefulSet gives to a pod's claim.
func ClaimName(volume, pod string) string { return volume + "-" + pod }

// PatchClaim writes next, unless somebody has changed the claim since it was seen, and leaves the API server's answer in next.
// One that is gone needs nothing.
func (c *Converger) PatchClaim(ctx context.Context, seen, next *corev1.PersistentVolumeClaim) error {
	patch := client.MergeFromWithOptions(seen, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(c.Patch(ctx, next, patch, client.FieldOwner(FieldManager)))
}

// WriteClaim writes next over the claim that was seen, and leaves the API server's answer in next.
type WriteClaim func(seen, next *corev1.PersistentVolumeClaim) error

// EnlargeClaims has every claim ask for the size, and puts in its place what was written. A refusal by the API server is no
// failure of ours: it returns its words, for the status.
func EnlargeClaims(claims map[string]*corev1.PersistentVolumeClaim, g volumes.Growth, write WriteClaim) (refusal string, err error) {
	var errs []error
	for _, pod := range g.ToRequest {
		next := claims[pod].DeepCopy()
		next.Spec.Resources.Requests[corev1.ResourceStorage] = g.Size
		switch err := write(claims[pod], next); {
		case err == nil:
			claims[pod] = next
		case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
			refusal = "storage.size: " + err.Error()
		default:
			errs = append(errs, fmt.Errorf("growing PersistentVolumeClaim %q: %w", next.Name, err))
		}
	}
	return refusal, errors.Join(errs...)
}

// SettleClaims deletes the claims that no node needs any more, if storage.retention is Delete, and has all others owned as it says. It
// puts in the place of a claim what was written. Before each delete, check asks the API server whether the object still is what the
// decision was made from. Call it after the StatefulSet was written, which gives claims an owner while its own policy is Delete.
func (c *Converger) SettleClaims(ctx context.Context, claims map[string]*corev1.PersistentVolumeClaim, kept volumes.Retention,
	check func(context.Context) error, write WriteClaim) error {
	var errs []error
	for _, pod := range slices.Sorted(maps.Keys(claims)) {
		claim, err := claims[pod], error(nil)
		if IsTrimmed(claim) { // the cache does not have its owners
			claim = &corev1.PersistentVolumeClaim{}
			err = c.Get(ctx, client.ObjectKeyFromObject(claims[pod]), claim)
		}
		switch {
		case err != nil:
			err = client.IgnoreNotFound(err)
		case kept.ToDelete(pod, claim):
			err = c.deleteClaim(ctx, claim, check)
		case claim.DeletionTimestamp.IsZero():
			claims[pod], err = setOwners(claim, kept.Owners(pod, claim), write)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// setOwners writes the owners of a claim where they differ, and returns the claim as it is then.
func setOwners(claim *corev1.PersistentVolumeClaim, owners []metav1.OwnerReference, write WriteClaim) (*corev1.PersistentVolumeClaim,
	error) {
	if equality.Semantic.DeepEqual(owners, claim.OwnerReferences) {
		return claim, nil
	}
	next := claim.DeepCopy()
	next.OwnerReferences = owners
	if err := write(claim, next); err != nil {
		return claim, fmt.Errorf("setting the owners of PersistentVolumeClaim %q: %w", claim.Name, err)
	}
	return next, nil
}

// deleteClaim deletes exactly the claim that was looked at, unless anything has changed since.
func (c *Converger) deleteClaim(ctx context.Context, claim *corev1.PersistentVolumeClaim, check func(context.Context) error) error {
	if err := check(ctx); err != nil {
		return fmt.Errorf("before deleting PersistentVolumeClaim %q: %w", claim.Name, err)
	}
	log.FromContext(ctx).Info("deleting the PersistentVolumeClaim of a node that has left", "claim", claim.Name, "uid", claim.UID)
	gone := &corev1.PersistentVolumeClaim{}
	gone.Namespace, gone.Name = claim.Namespace, claim.Name
	err := c.Delete(ctx, gone, client.Preconditions{UID: &claim.UID, ResourceVersion: &claim.ResourceVersion})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting PersistentVolumeClaim %q of a node that has left: %w", claim.Name, err)
	}
	return nil
}
