package converge

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
)

// ReportPausedChanges says in the conditions which writes spec.paused holds back: if there are any, what runs is not
// what this generation asks for. Call it after all else is reported.
func (c *Converger) ReportPausedChanges(ctx context.Context, owner Object, children ...Child) error {
	undesired, err := c.undesiredChildren(ctx, owner, childKeys(children))
	changes := slices.Collect(maps.Keys(undesired))
	collect := func(ctx context.Context, owner Object, want *unstructured.Unstructured, live client.Object) (client.Object, error) {
		if live != nil && live.GetDeletionTimestamp().IsZero() {
			if known, done, err := c.upToDate(ctx, owner, want, live); done || err != nil {
				return known, err
			}
		}
		changes = append(changes, childKey(want.GetKind(), want.GetName()))
		return live, nil
	}
	for _, child := range children {
		_ = c.reconcileChild(ctx, owner, child, Observed{}, collect) // ReadChildren has reported one that cannot be read or is not ours
	}
	slices.Sort(changes)
	conditions.SetPausedChanges(owner.GetConditions(), owner.GetGeneration(), changes)
	return err
}
