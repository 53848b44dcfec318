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
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

const (
	// FieldManager signs every write of the operator.
	FieldManager = "mainstay-operator"
	// AppliedAnnotation holds the hash of the desired state that a child was
	// last applied with, so that a restarted operator knows there is nothing to do.
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

// Observed are the children as they stand after a pass, by kind and name.
type Observed map[string]client.Object

// Find gives the observed child of that type and name, or nil.
func Find[T client.Object](observed Observed, kind, name string) (T, bool) {
	found, ok := observed[place(kind, name)].(T)
	return found, ok
}

func place(kind, name string) string { return kind + "/" + name }

// Converge makes the children be as desired and removes owned ones that no
// longer are. All are tried; errors are joined. No workload is made before what
// its pods start with, which stands before it.
func (c *Converger) Converge(ctx context.Context, owner Object, children ...Child) (Observed, error) {
	observed := Observed{}
	errs := make([]error, 0, len(children)+1)
	apply := c.apply
	for _, child := range children {
		err := c.visit(ctx, owner, child, observed, apply)
		if err != nil {
			if mounted(*child.GetKind()) {
				apply = c.upkeep
			}
			err = &failure{place(*child.GetKind(), *child.GetName()), err}
		}
		errs = append(errs, err)
	}
	errs = append(errs, c.prune(ctx, owner, children))
	return observed, errors.Join(errs...)
}

// Observe reads the children and writes nothing: what a paused object gets.
func (c *Converger) Observe(ctx context.Context, owner Object, children ...Child) (Observed, error) {
	observed := Observed{}
	errs := make([]error, 0, len(children))
	for _, child := range children {
		errs = append(errs, c.visit(ctx, owner, child, observed, nil))
	}
	return observed, errors.Join(errs...)
}

type applier func(ctx context.Context, owner Object, want *unstructured.Unstructured, live client.Object) (client.Object, error)

// visit looks one child up, refuses it when it is not ours, and applies it.
func (c *Converger) visit(ctx context.Context, owner Object, child Child, observed Observed, apply applier) error {
	want, err := c.complete(owner, child)
	if err != nil {
		return err
	}
	live, err := c.look(ctx, child, want)
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
		observed[place(want.GetKind(), want.GetName())] = live
	}
	return err
}

// complete gives the child its namespace, its owner and its hash.
func (c *Converger) complete(owner Object, child Child) (*unstructured.Unstructured, error) {
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

// look reads a child from the cache; nil means it is not there.
func (c *Converger) look(ctx context.Context, child Child, want *unstructured.Unstructured) (client.Object, error) {
	gvk, reader := want.GroupVersionKind(), client.Reader(c)
	if asking, ok := child.(interface{ AskedBy() string }); ok {
		if err := c.reach(ctx, gvk, asking.AskedBy()); err != nil {
			return nil, err
		}
		reader = c.Extensions.Cache
	}
	live, err := c.typed(gvk)
	if err != nil {
		return nil, err
	}
	if err := reader.Get(ctx, client.ObjectKeyFromObject(want), live); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return live, nil
}

func (c *Converger) typed(gvk schema.GroupVersionKind) (client.Object, error) {
	if slices.Contains(c.Extended, gvk) {
		return bare(gvk), nil
	}
	made, err := c.Scheme().New(gvk)
	if err != nil {
		return nil, fmt.Errorf("kind %s is not in the scheme: %w", gvk.Kind, err)
	}
	return made.(client.Object), nil
}

// apply sends the child only when the live one does not hold what is desired.
func (c *Converger) apply(ctx context.Context, owner Object, want *unstructured.Unstructured, live client.Object) (client.Object, error) {
	key, spot := client.ObjectKeyFromObject(owner), place(want.GetKind(), want.GetName())
	if live != nil {
		if !live.GetDeletionTimestamp().IsZero() {
			return live, nil // its end brings us back
		}
		if done, err := c.settled(key, want, live); done || err != nil {
			return live, err
		}
	}
	if live == nil && want.GetKind() == "StatefulSet" {
		if err := c.vacated(ctx, want); err != nil {
			return nil, err
		}
	}
	applied, err := c.send(ctx, owner, want, live)
	if err != nil {
		return nil, err
	}
	c.memory.note(key, spot, mark{version: applied.GetResourceVersion(), hash: hashOf(want), generation: applied.GetGeneration()})
	return applied, nil
}

// settled is true for a child that needs no write: it holds what is desired, or will once
// the cache shows our last write.
func (c *Converger) settled(owner types.NamespacedName, want *unstructured.Unstructured, live client.Object) (bool, error) {
	spot := place(want.GetKind(), want.GetName())
	last, stale := c.memory.of(owner, spot), c.memory.newer(owner, spot, live)
	switch {
	case last.hash == hashOf(want) && (stale || live.GetResourceVersion() == last.version):
		live.SetGeneration(max(live.GetGeneration(), last.generation))
		return true, nil
	case stale: // what it held says nothing of what we have written since
		return false, nil
	}
	return unchanged(want, live)
}

func hashOf(want *unstructured.Unstructured) string { return want.GetAnnotations()[AppliedAnnotation] }

// unchanged compares values as well as the hash: the hash sees fields that we
// no longer set, the values see what others did to fields that we do.
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
	return holds(body, fields), nil
}
