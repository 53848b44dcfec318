package converge

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
)

// HoldBack says in the conditions which writes spec.paused holds back: with any, what runs
// is not what this generation asks for. It comes after all else was said.
func (c *Converger) HoldBack(ctx context.Context, owner Object, children ...Child) error {
	surplus, err := c.surplus(ctx, owner, kept(children))
	back := slices.Collect(maps.Keys(surplus))
	note := func(_ context.Context, owner Object, want *unstructured.Unstructured, live client.Object) (client.Object, error) {
		if live != nil && live.GetDeletionTimestamp().IsZero() {
			if done, err := c.settled(client.ObjectKeyFromObject(owner), want, live); done || err != nil {
				return live, err
			}
		}
		back = append(back, place(want.GetKind(), want.GetName()))
		return live, nil
	}
	for _, child := range children {
		_ = c.visit(ctx, owner, child, Observed{}, note) // of one that cannot be read, or is not ours, Observe has told
	}
	slices.Sort(back)
	conditions.HoldBack(owner.GetConditions(), owner.GetGeneration(), back)
	return err
}
