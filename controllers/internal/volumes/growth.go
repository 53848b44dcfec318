// Package volumes decides how the volumes of a StatefulSet's pods grow, and says how far they are. It is pure.
package volumes

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// RetryAfter is the time between attempts to grow a volume that may not grow: nothing reports to the operator when the storage class
// comes to allow it.
const RetryAfter = 30 * time.Second

// Growth is how far volumes are from the size that is asked for.
type Growth struct {
	Size       resource.Quantity // asked for
	ToRequest  []string          // pods whose claims ask for less
	Undersized []string          // pods whose volumes are smaller, whatever their claims ask for
	Message    string            // what the storage says of one of them
	Refusal    string            // why one may not grow, in the server's words
}

// GrowthOf looks at claims, by the pod's name. It leaves out one that is not bound, which cannot grow yet.
func GrowthOf(claims map[string]*corev1.PersistentVolumeClaim, size resource.Quantity) Growth {
	g := Growth{Size: size}
	for _, pod := range slices.Sorted(maps.Keys(claims)) {
		claim := claims[pod]
		if claim == nil || claim.Status.Phase != corev1.ClaimBound {
			continue
		}
		if asked := claim.Spec.Resources.Requests[corev1.ResourceStorage]; compare(asked, size) < 0 {
			g.ToRequest = append(g.ToRequest, pod)
		}
		if has := claim.Status.Capacity[corev1.ResourceStorage]; compare(has, size) < 0 {
			g.Undersized = append(g.Undersized, pod)
			g.Message = growthMessage(claim, g.Message)
		}
	}
	return g
}

// growthMessage is what the storage says of a claim that grows, else what it said before.
func growthMessage(claim *corev1.PersistentVolumeClaim, before string) string {
	for _, c := range claim.Status.Conditions {
		if c.Status == corev1.ConditionTrue && c.Message != "" {
			return fmt.Sprintf(" (%s: %s)", claim.Name, c.Message)
		}
	}
	return before
}

// HaveOutgrown reports whether every claim asks for more than a StatefulSet that was made for volumes of that size gives to new
// pods.
func (g Growth) HaveOutgrown(made resource.Quantity) bool {
	return compare(made, g.Size) < 0 && len(g.ToRequest) == 0
}

// MadeFor returns the size of the volumes that a StatefulSet was made for, and whether it is there and has any.
func MadeFor(set *appsv1.StatefulSet) (resource.Quantity, bool) {
	if len(set.Spec.VolumeClaimTemplates) == 0 || !set.DeletionTimestamp.IsZero() {
		return resource.Quantity{}, false
	}
	return sizeIn(set), true
}

// SizeOfNew returns the size of the volumes of new pods. A StatefulSet cannot change it; one that is yet to be made gives what is
// asked for.
func SizeOfNew(set *appsv1.StatefulSet, asked resource.Quantity) resource.Quantity {
	if len(set.Spec.VolumeClaimTemplates) == 0 {
		return asked
	}
	return sizeIn(set)
}

func sizeIn(set *appsv1.StatefulSet) resource.Quantity {
	return set.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests[corev1.ResourceStorage]
}

// compare is like Quantity.Cmp, at a cost that has a bound. A user can make a claim request 1e9999999: the API server accepts it,
// and Cmp would compute it.
func compare(a, b resource.Quantity) int {
	const most = 1 << 63 // bytes, more than any volume has
	if x, y := a.AsApproximateFloat64(), b.AsApproximateFloat64(); max(x, y) > most {
		return cmp.Compare(x, y)
	}
	return a.Cmp(b)
}
