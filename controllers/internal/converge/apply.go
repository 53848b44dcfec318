package converge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

const (
	// FieldManager signs every write of the operator.
	FieldManager = "mainstay-operator"
	// AppliedAnnotation holds the hash of the desired state that a child was last applied with, so that a
	// restarted operator knows when there is nothing to do.
	AppliedAnnotation = "mainstay-operator.io/applied"
)

// Child is a desired object: an apply configuration that sets only the fields
// that the kind means to own.
type Child interface {
	runtime.ApplyConfiguration
	GetAPIVersion() *string
	GetKind() *string
	GetName() *string
}

// Observed are children as they stand, by kind and name. Of a Secret or ConfigMap that this pass had no need to read or
// write, it is the metadata alone, and Find finds none of its type.
type Observed map[string]client.Object

// Find returns the observed child of that type and name, and whether there is one.
func Find[T client.Object](observed Observed, kind, name string) (T, bool) {
	found, ok := observed[childKey(kind, name)].(T)
	return found, ok
}

func childKey(kind, name string) string { return kind + "/" + name }

// Converge makes the children be as desired and removes owned ones that are no longer desired. It tries all of them
// and joins the errors. Secrets and ConfigMaps must stand before the workloads whose pods start with them: if one
// fails, the workloads after it are left as they are.
func (c *Converger) Converge(ctx context.Context, owner Object, children ...Child) (Observed, error) {
	observed, err := c.ApplyChildren(ctx, owner, children...)
	return observed, errors.Join(err, c.prune(ctx, owner, children))
}

// ApplyChildren does the same and removes nothing: it is for what must stand before the others, whatever these are.
func (c *Converger) ApplyChildren(ctx context.Context, owner Object, children ...Child) (Observed, error) {
	observed := Observed{}
	errs := make([]error, 0, len(children))
	apply := c.apply
	for _, child := range children {
		err := c.reconcileChild(ctx, owner, child, observed, apply)
		if err != nil {
			if isPodConfig(*child.GetKind()) {
				apply = c.applyUnlessWorkload
			}
			err = &childError{childKey(*child.GetKind(), *child.GetName()), err}
		}
		errs = append(errs, err)
	}
	return observed, errors.Join(errs...)
}

// ReadChildren reads the children and writes nothing: it is for a paused object.
func (c *Converger) ReadChildren(ctx context.Context, owner Object, children ...Child) (Observed, error) {
	observed := Observed{}
	errs := make([]error, 0, len(children))
	for _, child := range children {
		errs = append(errs, c.reconcileChild(ctx, owner, child, observed, nil))
	}
	return observed, errors.Join(errs...)
}

type applyFunc func(ctx context.Context, owner Object, want *unstructured.Unstructured, live client.Object) (client.Object, error)

// reconcileChild looks up one child, refuses it if it is not ours, applies it, and notes it in observed. With a nil apply it
// only looks.
func (c *Converger) reconcileChild(ctx context.Context, owner Object, child Child, observed Observed, apply applyFunc) error {
	want, err := c.withOwnerAndHash(owner, child)
	if err != nil {
		return err
	}
	live, err := c.getChild(ctx, child, want)
	if err != nil {
		return fmt.Errorf("reading %s %q: %w", want.GetKind(), want.GetName(), err)
	}
	if live != nil && !metav1.IsControlledBy(live, owner) {
		return NotOurs(want.GetKind(), live)
	}
	if apply != nil {
		applied, applyErr := apply(ctx, owner, want, live)
		if applyErr == nil {
			live = applied
		} else {
			err = fmt.Errorf("applying %s %q: %w", want.GetKind(), want.GetName(), applyErr)
		}
	}
	if live != nil { // also after an error: what stands, stands
		observed[childKey(want.GetKind(), want.GetName())] = live
	}
	return err
}

// withOwnerAndHash encodes the child with its namespace, its owner and its hash.
func (c *Converger) withOwnerAndHash(owner Object, child Child) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(child)
	if err != nil {
		return nil, fmt.Errorf("child of %q cannot be encoded: %w", owner.GetName(), err)
	}
	gvk, err := apiutil.GVKForObject(owner, c.Scheme())
	if err != nil {
		return nil, fmt.Errorf("owner %q has no kind: %w", owner.GetName(), err)
	}
	want := &unstructured.Unstructured{Object: fields}
	want.SetNamespace(owner.GetNamespace())
	want.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(owner, gvk)})
	encoded, err := json.Marshal(want.Object)
	if err != nil {
		return nil, fmt.Errorf("child of %q cannot be encoded: %w", owner.GetName(), err)
	}
	sum := sha256.Sum256(encoded)
	annotations := want.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[AppliedAnnotation] = hex.EncodeToString(sum[:12])
	want.SetAnnotations(annotations)
	return want, nil
}

// getChild reads a child from the cache; nil means it is not there.
func (c *Converger) getChild(ctx context.Context, child Child, want *unstructured.Unstructured) (client.Object, error) {
	gvk, reader := want.GroupVersionKind(), client.Reader(c)
	if asking, ok := child.(interface{ AskedBy() string }); ok {
		if err := c.ensureWatched(ctx, gvk, asking.AskedBy()); err != nil {
			return nil, err
		}
		reader = c.OptionalAPIs.Cache
	}
	live, err := c.newObject(gvk)
	if err != nil {
		return nil, err
	}
	live = AsCached(live)
	if err := reader.Get(ctx, client.ObjectKeyFromObject(want), live); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if err := readTrimmed(ctx, c.APIReader, live); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return live, nil
}

func (c *Converger) newObject(gvk schema.GroupVersionKind) (client.Object, error) {
	if slices.Contains(c.OptionalTypes, gvk) {
		return newUnstructured(gvk), nil
	}
	made, err := c.Scheme().New(gvk)
	if err != nil {
		return nil, fmt.Errorf("kind %s is not in the scheme: %w", gvk.Kind, err)
	}
	return made.(client.Object), nil
}

// apply sends the child only when the live one does not hold what is desired.
func (c *Converger) apply(ctx context.Context, owner Object, want *unstructured.Unstructured, live client.Object) (client.Object, error) {
	ownerKey, key := client.ObjectKeyFromObject(owner), childKey(want.GetKind(), want.GetName())
	if live != nil {
		if !live.GetDeletionTimestamp().IsZero() {
			return live, nil // the event of its end brings the next pass
		}
		known, done, err := c.upToDate(ctx, owner, want, live)
		if done || err != nil {
			return known, err
		}
	}
	if live == nil && want.GetKind() == "StatefulSet" {
		if err := c.checkFormerPods(ctx, want); err != nil {
			return nil, err
		}
	}
	applied, err := c.send(ctx, owner, want, live)
	if err != nil {
		return nil, err
	}
	c.lastWrites.noteWrite(ownerKey, key, lastWrite{version: applied.GetResourceVersion(), hash: hashOf(want),
		generation: applied.GetGeneration()})
	c.secrets.note(owner, applied)
	return applied, nil
}

// upToDate reports whether a child needs no write: it holds what is desired, or will once the cache shows our last write.
// It returns the child with its content if that had to be read to know. It raises the child's generation to that of our
// last write, so that no status takes an older copy's observedGeneration for current.
func (c *Converger) upToDate(ctx context.Context, owner Object, want *unstructured.Unstructured, live client.Object) (known client.Object,
	done bool, err error) {
	ownerKey, key := client.ObjectKeyFromObject(owner), childKey(want.GetKind(), want.GetName())
	last, stale := c.lastWrites.get(ownerKey, key), c.lastWrites.isStale(ownerKey, key, live)
	switch {
	case last.hash == hashOf(want) && (stale || live.GetResourceVersion() == last.version):
		live.SetGeneration(max(live.GetGeneration(), last.generation))
		return live, true, nil
	case stale, live.GetAnnotations()[AppliedAnnotation] != hashOf(want): // of another hash: write again
		return live, false, nil
	}
	if _, bare := live.(*metav1.PartialObjectMetadata); !bare {
		done, err := unchanged(want, live)
		return live, done, err
	}
	whole, err := c.readWhole(ctx, owner, live)
	if err != nil {
		return live, false, err
	}
	done, err = unchanged(want, whole)
	if done { // until somebody writes it, its content is not read again
		c.lastWrites.noteWrite(ownerKey, key, lastWrite{version: whole.GetResourceVersion(), hash: hashOf(want),
			generation: whole.GetGeneration()})
	}
	return whole, done, err
}

func hashOf(want *unstructured.Unstructured) string { return want.GetAnnotations()[AppliedAnnotation] }

// unchanged reports whether live holds what is wanted. It compares values as well as the hash: the hash shows fields
// that we no longer set, the values show what others did to fields that we set.
func unchanged(want *unstructured.Unstructured, live client.Object) (bool, error) {
	if live.GetAnnotations()[AppliedAnnotation] != hashOf(want) {
		return false, nil
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err != nil {
		return false, fmt.Errorf("decoding the live object: %w", err)
	}
	body := want.DeepCopy().Object
	delete(body, "apiVersion") // a typed object from the cache bears neither
	delete(body, "kind")
	return isSubset(body, fields), nil
}
