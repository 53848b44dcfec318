package converge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// ownerIndex finds children by the UID of the object that controls them.
const ownerIndex = ".metadata.controller.uid"

// IndexOwners makes the cache find the children of a UID for the types, each once. Call it before the manager starts.
func IndexOwners(ctx context.Context, indexer client.FieldIndexer, scheme *runtime.Scheme, owned ...client.Object) error {
	seen := map[string]bool{}
	for _, kind := range owned {
		gvk, err := apiutil.GVKForObject(kind, scheme)
		if err != nil {
			return fmt.Errorf("indexing owners: %w", err)
		}
		if seen[gvk.String()] {
			continue
		}
		seen[gvk.String()] = true
		if err := indexer.IndexField(ctx, AsCached(kind), ownerIndex, controllerUID); err != nil {
			return fmt.Errorf("indexing owners of %s: %w", gvk.Kind, err)
		}
	}
	return nil
}

func controllerUID(obj client.Object) []string {
	if ref := metav1.GetControllerOf(obj); ref != nil {
		return []string{string(ref.UID)}
	}
	return nil
}

// prune deletes owned children that are not desired, each only in the version that was seen, and only if the owner is confirmed.
func (c *Converger) prune(ctx context.Context, owner Object, desired []Child) error {
	undesired, err := c.undesiredChildren(ctx, owner, childKeys(desired))
	errs := []error{err}
	for key, child := range undesired {
		if err := c.deleteChild(ctx, owner, key, child); err != nil {
			errs = append(errs, fmt.Errorf("deleting %s: %w", key, err))
		}
	}
	return errors.Join(errs...)
}

func childKeys(desired []Child) map[string]bool {
	keys := map[string]bool{}
	for _, child := range desired {
		keys[childKey(*child.GetKind(), *child.GetName())] = true
	}
	return keys
}

// undesiredChildren returns the owned children that are neither desired nor being deleted, by kind and name.
func (c *Converger) undesiredChildren(ctx context.Context, owner Object, desired map[string]bool) (Observed, error) {
	found := Observed{}
	var errs []error
	for _, kind := range c.Owned {
		gvk, err := apiutil.GVKForObject(kind, c.Scheme())
		if err != nil {
			return nil, fmt.Errorf("pruning: %w", err)
		}
		children, err := c.listOwned(ctx, owner, kind)
		if err != nil {
			errs = append(errs, fmt.Errorf("listing %s: %w", gvk.Kind, err))
		}
		for _, child := range children {
			if key := childKey(gvk.Kind, child.GetName()); !desired[key] && child.GetDeletionTimestamp().IsZero() {
				found[key] = child
			}
		}
	}
	extended, err := c.undesiredOptional(ctx, owner, desired)
	maps.Copy(found, extended)
	return found, errors.Join(append(errs, err)...)
}

// ListControlled lists the objects of one type that an owner controls. IndexOwners must know the type.
func (c *Converger) ListControlled(ctx context.Context, owner client.Object, list client.ObjectList) error {
	return c.List(ctx, list, client.InNamespace(owner.GetNamespace()), client.MatchingFields{ownerIndex: string(owner.GetUID())})
}

func (c *Converger) listOwned(ctx context.Context, owner Object, kind client.Object) ([]client.Object, error) {
	gvk, err := apiutil.GVKForObject(kind, c.Scheme())
	if err != nil {
		return nil, err
	}
	list, err := c.newList(gvk)
	if err != nil {
		return nil, err
	}
	if err := c.ListControlled(ctx, owner, list); err != nil {
		return nil, err
	}
	items, err := meta.ExtractList(list)
	children := make([]client.Object, 0, len(items))
	for _, item := range items {
		children = append(children, item.(client.Object))
	}
	return children, err
}

// newList returns an empty list of the form in which the cache has the type.
func (c *Converger) newList(gvk schema.GroupVersionKind) (client.ObjectList, error) {
	gvk.Kind += "List"
	if isPodConfig(strings.TrimSuffix(gvk.Kind, "List")) {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk)
		return list, nil
	}
	made, err := c.Scheme().New(gvk)
	if err != nil {
		return nil, fmt.Errorf("kind %s is not in the scheme: %w", gvk.Kind, err)
	}
	return made.(client.ObjectList), nil
}

// deleteChild deletes exactly the object that was looked at, or nothing, and only once: the cache may still show it
// for a while.
func (c *Converger) deleteChild(ctx context.Context, owner Object, key string, child client.Object) error {
	ownerKey, gone := client.ObjectKeyFromObject(owner), lastWrite{version: child.GetResourceVersion(), hash: deletedHash}
	if c.lastWrites.get(ownerKey, key) == gone {
		return nil
	}
	if err := c.Confirm(ctx, owner); err != nil {
		return err
	}
	err := client.IgnoreNotFound(c.Delete(ctx, child, client.Preconditions{
		UID:             ptr.To(child.GetUID()),
		ResourceVersion: ptr.To(child.GetResourceVersion()),
	}, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	if err == nil {
		c.lastWrites.noteWrite(ownerKey, key, gone)
	}
	return err
}
