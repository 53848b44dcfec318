package converge

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/volumes"
)

// ListClaims returns the PersistentVolumeClaims of one volume of an object's StatefulSet, by the pod's name, as this reader has
// them: also those whose pod does not exist now.
func ListClaims(ctx context.Context, reader client.Reader, owner types.NamespacedName, kind, volume string) (map[string]*corev1.PersistentVolumeClaim, error) {
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
