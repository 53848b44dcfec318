package converge

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// confirmation is the API server's answer, in this pass, to whether the owner still has the version that the pass holds. It says
// nothing of another version.
type confirmation struct {
	version string
	err     error // nil if it is the newest
}

// Confirm returns nil if the owner is as the API server has it. It asks once in a pass at most, and not after a save of the status,
// which the API server refuses to make from an older object. Call it before a write that takes something away: what an older
// object asks for may be what its user has just taken back.
func (c *Converger) Confirm(ctx context.Context, owner Object) error {
	if known := c.confirmations.Of(owner); known.version == owner.GetResourceVersion() {
		return known.err
	}
	return c.CheckUnchanged(ctx, owner)
}

// CheckUnchanged is Confirm that asks in any case: it is for an act that another process may have overtaken within this pass.
func (c *Converger) CheckUnchanged(ctx context.Context, owner Object) error {
	err := c.compareWithLive(ctx, owner)
	*c.confirmations.Of(owner) = confirmation{owner.GetResourceVersion(), err}
	return err
}

// noteSaved notes that the API server has just answered a write with the owner as it is now.
func (c *Converger) noteSaved(owner Object) {
	*c.confirmations.Of(owner) = confirmation{version: owner.GetResourceVersion()}
}

// compareWithLive returns a conflict if the API server has another version of the owner, or none.
func (c *Converger) compareWithLive(ctx context.Context, owner Object) error {
	gvk, err := apiutil.GVKForObject(owner, c.Scheme())
	if err != nil {
		return fmt.Errorf("owner %q has no kind: %w", owner.GetName(), err)
	}
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(gvk)
	err = c.APIReader.Get(ctx, client.ObjectKeyFromObject(owner), live)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("asking the API server whether the object is the newest: %w", err)
	}
	if err != nil || live.UID != owner.GetUID() || live.ResourceVersion != owner.GetResourceVersion() {
		return apierrors.NewConflict(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, owner.GetName(),
			errors.New("the cache is behind"))
	}
	return nil
}
