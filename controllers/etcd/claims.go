package etcd

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

// claimsIn returns the claims as the plan sees them, sorted by name.
func (o *object) claimsIn(claims map[string]*corev1.PersistentVolumeClaim) []membership.Claim {
	var list []membership.Claim
	for _, pod := range slices.Sorted(maps.Keys(claims)) {
		claim := claims[pod]
		list = append(list, membership.Claim{Name: claim.Name, Member: pod, UID: claim.UID,
			Data: claim.Annotations[config.AnnotationData], Stamp: claim.Annotations[config.AnnotationRecord],
			Goes: !claim.DeletionTimestamp.IsZero() || o.cluster.Status.Membership == nil && o.isGarbage(claim)})
	}
	return list
}

// isGarbage reports whether a claim is owned by a former object of this name, or by its StatefulSet: the garbage collector is about to
// delete it.
func (o *object) isGarbage(claim *corev1.PersistentVolumeClaim) bool {
	return slices.ContainsFunc(claim.OwnerReferences, func(owner metav1.OwnerReference) bool {
		return owner.Name == o.cluster.Name && (owner.Kind == "EtcdCluster" && owner.UID != o.cluster.UID ||
			owner.Kind == "StatefulSet" && owner.UID != o.in.set.UID)
	})
}

// ReadClaims lists the claims at the API server.
func (a *apiEffects) ReadClaims(ctx context.Context) ([]membership.Claim, error) {
	claims, err := a.listClaims(ctx, a.APIReader)
	if err != nil {
		return nil, err
	}
	a.in.claims = claims
	return a.claimsIn(claims), nil
}

// listClaims returns the claims of the members, former ones included, as this reader has them.
func (o *object) listClaims(ctx context.Context, reader ctrlclient.Reader) (map[string]*corev1.PersistentVolumeClaim, error) {
	return converge.ListClaims(ctx, reader, ctrlclient.ObjectKeyFromObject(o.cluster), config.AppName, config.DataVolume)
}

// StampClaims writes the stamp on the claims, one after the other.
func (a *apiEffects) StampClaims(ctx context.Context, stamp membership.Stamp) error {
	for _, pod := range slices.Sorted(maps.Keys(a.in.claims)) {
		claim := a.in.claims[pod]
		if !claim.DeletionTimestamp.IsZero() || claim.Annotations[config.AnnotationRecord] == stamp.For(claim.UID) {
			continue
		}
		stamped, err := a.stampClaim(ctx, claim, stamp)
		if ctrlclient.IgnoreNotFound(err) != nil {
			return err
		}
		if err == nil {
			a.in.claims[pod] = stamped
		}
	}
	return nil
}

// stampClaim stamps one claim, and returns it as it is then. It asks the API server first, as the cache may have the claim as it was before
// it was stamped last. It overwrites no later stamp: another operator has written that from a later record.
func (a *apiEffects) stampClaim(ctx context.Context, cached *corev1.PersistentVolumeClaim, stamp membership.Stamp,
) (*corev1.PersistentVolumeClaim, error) {
	claim := &corev1.PersistentVolumeClaim{}
	if err := a.APIReader.Get(ctx, ctrlclient.ObjectKeyFromObject(cached), claim); err != nil {
		return nil, err
	}
	former := membership.Claim{UID: claim.UID, Stamp: claim.Annotations[config.AnnotationRecord]}
	text := stamp.For(claim.UID)
	switch found, ok := former.ReadStamp(); {
	case claim.UID != cached.UID:
		return nil, fmt.Errorf("the cache is behind at PersistentVolumeClaim %q", claim.Name)
	case !claim.DeletionTimestamp.IsZero(), former.Stamp == text:
		return claim, nil
	case ok && found.Revision() >= stamp.Revision():
		return nil, fmt.Errorf("the cache is behind: PersistentVolumeClaim %q is stamped with revision %d, and the record has %d",
			claim.Name, found.Revision(), stamp.Revision())
	}
	next := claim.DeepCopy()
	metav1.SetMetaDataAnnotation(&next.ObjectMeta, config.AnnotationRecord, text)
	return next, a.PatchClaim(ctx, claim, next)
}
