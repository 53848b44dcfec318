package converge

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// impossibleVersion is a resourceVersion that no object has: an etcd without any object is at it. An apply that names
// it creates the object, and conflicts when there is one already.
const impossibleVersion = "1"

// send applies under a precondition that makes a lost race harmless: it applies an absent child at a version that
// nothing has, which creates and never adopts, and a child of ours under its UID. What exists is changed only if the owner is
// confirmed: an older one may want fewer replicas, an older image or a wider budget. That also holds before a StatefulSet is created: it
// adopts the pods that a deleted one has left, and deletes those that it does not count. Anything else that is missing is created without
// a question; if it is not wanted any more, a later pass deletes it.
func (c *Converger) send(ctx context.Context, owner Object, want *unstructured.Unstructured, live client.Object) (client.Object, error) {
	options := []client.ApplyOption{client.FieldOwner(FieldManager)}
	if live != nil || want.GetKind() == "StatefulSet" {
		if err := c.Confirm(ctx, owner); err != nil {
			return nil, err
		}
	}
	if live == nil {
		want.SetResourceVersion(impossibleVersion)
	} else {
		want.SetUID(live.GetUID())
		options = append(options, client.ForceOwnership)
	}
	gvk := want.GroupVersionKind()
	apply := func() error { return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(want), options...) }
	err := apply()
	if live != nil && isRejected(err) {
		if err = c.revertPortEdits(ctx, want, live, err); err == nil {
			err = apply()
		}
	}
	switch {
	case live == nil && apierrors.IsConflict(err):
		hidden, err := c.resolveCreateConflict(ctx, owner, want, err)
		if err != nil {
			return nil, err
		}
		want.SetResourceVersion("")
		return c.send(ctx, owner, want, hidden)
	case live != nil && hasFieldCause(err, "metadata.uid"):
		return nil, apierrors.NewConflict(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, want.GetName(), err)
	case err != nil:
		return nil, err
	}
	applied, err := c.newObject(gvk)
	if err != nil {
		return nil, err
	}
	if untyped, ok := applied.(*unstructured.Unstructured); ok {
		untyped.Object = want.Object
		return untyped, nil
	}
	return applied, runtime.DefaultUnstructuredConverter.FromUnstructured(want.Object, applied)
}

// isRejected reports whether the server says that the result of an apply would be invalid. Of a node port that is
// taken twice, it says that the error is its own.
func isRejected(err error) bool { return apierrors.IsInvalid(err) || apierrors.IsInternalError(err) }

// resolveCreateConflict asks the API server for a child that was there after all. If the child is ours and has our
// label, the cache lags and the conflict stands; without the label, by which the cache selects, it is the one to write
// to. Anybody else's is refused, also of a type of which the cache holds only our own.
func (c *Converger) resolveCreateConflict(ctx context.Context, owner Object, want *unstructured.Unstructured,
	conflict error) (client.Object, error) {
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(want.GroupVersionKind())
	switch err := c.APIReader.Get(ctx, client.ObjectKeyFromObject(want), found); {
	case apierrors.IsNotFound(err):
		return nil, conflict
	case err != nil:
		return nil, fmt.Errorf("reading who owns it: %w", err)
	case !metav1.IsControlledBy(found, owner):
		return nil, NotOurs(want.GetKind(), found)
	case found.GetLabels()[parts.LabelManagedBy] == parts.ManagedBy:
		return nil, conflict
	}
	return found, nil
}

// hasFieldCause reports whether the server refuses that very field.
func hasFieldCause(err error, field string) bool {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool { return c.Field == field })
}
