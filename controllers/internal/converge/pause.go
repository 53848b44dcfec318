package converge

import (
	"context"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
)

// HoldBack says in the conditions which writes spec.paused holds back: with any, what runs
// is not what this generation asks for. It comes after all else was said.
func (c *Converger) HoldBack(ctx context.Context, owner Object, children ...Child) error {
	surplus, err := c.surplus(ctx, owner, kept(children))
	back := slices.Collect(maps.Keys(surplus))
	for _, child := range children {
		if c.lacks(ctx, owner, child) {
			back = append(back, place(*child.GetKind(), *child.GetName()))
		}
	}
	slices.Sort(back)
	conditions.HoldBack(owner.GetConditions(), owner.GetGeneration(), back)
	return err
}

// lacks is true for a child that would be written. Of one that cannot be read, or is not
// ours, Observe has told.
func (c *Converger) lacks(ctx context.Context, owner Object, child Child) bool {
	want, err := c.complete(owner, child)
	if err != nil {
		return false
	}
	live, err := c.look(ctx, child, want)
	switch {
	case err != nil, live != nil && !metav1.IsControlledBy(live, owner):
		return false
	case live == nil, !live.GetDeletionTimestamp().IsZero():
		return true
	}
	done, err := c.settled(client.ObjectKeyFromObject(owner), want, live)
	return !done && err == nil
}
