// Package null has the null operator of the benchmark: a bare client that writes what the operator has written for an object, and
// nothing else. It reads two watches, compares nothing, repairs nothing, and writes the status once per generation.
package null

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Recipe is what the operator made of an object of a kind.
type Recipe struct {
	// Kind of the object, and of the child whose pods must be ready.
	Kind, Workload schema.GroupVersionKind
	// Generations of the object: what it was created with, then what each edit led to.
	Generations []Generation
}

// Generation is the state for one generation of the object.
type Generation struct {
	from     identity
	children []*unstructured.Unstructured
	status   map[string]any
}

// identity is what the children and the status of an object are made with.
type identity struct{ namespace, name, uid string }

func identityOf(obj client.Object) identity {
	return identity{obj.GetNamespace(), obj.GetName(), string(obj.GetUID())}
}

// Learn returns what exists of an object now: its status, and its children of these types.
func Learn(ctx context.Context, c client.Client, object client.Object, childTypes []client.Object) (Generation, error) {
	kind, err := apiutil.GVKForObject(object, c.Scheme())
	if err != nil {
		return Generation{}, err
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(kind)
	if err := c.Get(ctx, client.ObjectKeyFromObject(object), live); err != nil {
		return Generation{}, fmt.Errorf("learning: %w", err)
	}
	g := Generation{from: identityOf(live)}
	g.status, _, err = unstructured.NestedMap(live.Object, "status")
	if err != nil {
		return g, fmt.Errorf("learning the status: %w", err)
	}
	for _, child := range childTypes {
		kind, err := apiutil.GVKForObject(child, c.Scheme())
		if err != nil {
			return g, err
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if err := c.List(ctx, list, client.InNamespace(live.GetNamespace())); err != nil {
			return g, fmt.Errorf("learning the children: %w", err)
		}
		for i := range list.Items {
			if metav1.IsControlledBy(&list.Items[i], live) {
				g.children = append(g.children, withoutServersFields(&list.Items[i]))
			}
		}
	}
	if len(g.children) == 0 {
		return g, fmt.Errorf("%s has no children to learn from", live.GetName())
	}
	return g, nil
}

// withoutServersFields removes what the API server and the controllers of Kubernetes have set, and what would not fit another object.
func withoutServersFields(child *unstructured.Unstructured) *unstructured.Unstructured {
	child = child.DeepCopy()
	delete(child.Object, "status")
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"} {
		unstructured.RemoveNestedField(child.Object, "metadata", field)
	}
	if annotations := child.GetAnnotations(); annotations["deployment.kubernetes.io/revision"] != "" {
		delete(annotations, "deployment.kubernetes.io/revision")
		child.SetAnnotations(annotations)
	}
	if child.GetKind() != "Service" {
		return child
	}
	if address, _, _ := unstructured.NestedString(child.Object, "spec", "clusterIP"); address != "None" {
		unstructured.RemoveNestedField(child.Object, "spec", "clusterIP")
		unstructured.RemoveNestedField(child.Object, "spec", "clusterIPs")
	}
	ports, _, _ := unstructured.NestedSlice(child.Object, "spec", "ports")
	for _, port := range ports {
		if fields, ok := port.(map[string]any); ok {
			delete(fields, "nodePort")
		}
	}
	if len(ports) > 0 {
		_ = unstructured.SetNestedSlice(child.Object, ports, "spec", "ports") // it was read there
	}
	return child
}

// rename writes a state for another object: wherever the former namespace, name and UID are in its text, as in labels, commands and
// references, are those of the other. So these three must be texts that mean nothing else.
func rename(state map[string]any, from, to identity) (map[string]any, error) {
	text, err := json.Marshal(state)
	if err != nil {
		return nil, err
	}
	text = []byte(strings.NewReplacer(from.uid, to.uid, from.namespace, to.namespace, from.name, to.name).Replace(string(text)))
	var renamed map[string]any
	return renamed, utiljson.Unmarshal(text, &renamed) // as Kubernetes does it: integers stay integers
}

// childrenFor returns the children that another object has in this generation.
func (g Generation) childrenFor(to identity) ([]*unstructured.Unstructured, error) {
	children := make([]*unstructured.Unstructured, 0, len(g.children))
	for _, child := range g.children {
		renamed, err := rename(child.Object, g.from, to)
		if err != nil {
			return nil, fmt.Errorf("renaming %s %s: %w", child.GetKind(), child.GetName(), err)
		}
		children = append(children, &unstructured.Unstructured{Object: renamed})
	}
	return children, nil
}

// statusFor returns the patch of the status that another object has in this generation.
func (g Generation) statusFor(to identity) (client.Patch, error) {
	status, err := rename(g.status, g.from, to)
	if err != nil {
		return nil, fmt.Errorf("renaming the status: %w", err)
	}
	text, err := json.Marshal(map[string]any{"status": status})
	return client.RawPatch(types.MergePatchType, text), err
}

// change is one write that leads from one generation to the next.
type change struct {
	// before is nil for a child to be created, after is nil for one to be deleted.
	before, after *unstructured.Unstructured
}

// changesBetween returns the writes that lead from the children of one generation to those of the next. Without any before, all are
// created.
func changesBetween(before, after []*unstructured.Unstructured) []change {
	var changes []change
	find := func(in []*unstructured.Unstructured, child *unstructured.Unstructured) *unstructured.Unstructured {
		for _, other := range in {
			if other.GroupVersionKind() == child.GroupVersionKind() && other.GetName() == child.GetName() {
				return other
			}
		}
		return nil
	}
	for _, child := range after {
		former := find(before, child)
		if former == nil || !apiequality.Semantic.DeepEqual(former.Object, child.Object) {
			changes = append(changes, change{former, child})
		}
	}
	for _, child := range before {
		if find(after, child) == nil {
			changes = append(changes, change{before: child})
		}
	}
	return changes
}
