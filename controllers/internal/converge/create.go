package converge

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// CreateOnce creates an object that is not a child of Converge. One of its name that the owner controls is taken, as the cache may be
// behind; another is refused. live is an empty object of the same type, to read it into.
func (c *Converger) CreateOnce(ctx context.Context, kind string, owner metav1.Object, obj, live client.Object) error {
	err := c.Create(ctx, obj, client.FieldOwner(FieldManager))
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	if err := c.APIReader.Get(ctx, client.ObjectKeyFromObject(obj), live); err != nil {
		return client.IgnoreNotFound(err) // gone by now: the next pass creates it
	}
	if !metav1.IsControlledBy(live, owner) {
		return NotOurs(kind, live)
	}
	return nil
}
