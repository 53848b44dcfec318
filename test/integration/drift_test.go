package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("Drift:", func() {
	forEachKind("brings a deleted child back", func(ctx SpecContext, k kind) {
		namespace := k.newNamespace(ctx)
		o := operate(namespace)
		obj := k.create(ctx, namespace)
		before := stateAtRest(ctx, o, k, obj)
		found, err := childrenIn(ctx, namespace)
		Expect(err).NotTo(HaveOccurred())
		for place, child := range found {
			By(place)
			Expect(admin.Delete(ctx, child)).To(Succeed())
			Eventually(func() (types.UID, error) { return uidOf(ctx, child) }).ShouldNot(Equal(child.GetUID()))
		}
		Expect(firstDifference(before, stateAtRest(ctx, o, k, obj))).To(Equal(same))
	})

	forEachKind("takes back every edit of a field that we own", func(ctx SpecContext, k kind) {
		namespace := k.newNamespace(ctx)
		operate(namespace)
		obj := k.create(ctx, namespace)
		found, err := childrenIn(ctx, namespace)
		Expect(err).NotTo(HaveOccurred())
		tried := 0
		for _, place := range slices.Sorted(maps.Keys(found)) {
			for _, edit := range owned(found[place]) {
				at := fmt.Sprintf("%s %v", place, edit.path)
				if slices.Contains(k.kept, at) {
					continue
				}
				patch, err := json.Marshal([]map[string]any{{"op": "replace", "path": edit.pointer(), "value": edit.other}})
				Expect(err).NotTo(HaveOccurred())
				child := found[place].DeepCopy()
				err = admin.Patch(ctx, child, client.RawPatch(types.JSONPatchType, patch))
				if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
					continue // the server lets no user make that edit
				}
				Expect(err).NotTo(HaveOccurred(), at)
				tried++
				Eventually(func(g Gomega) {
					read, err := live(ctx, child)
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(edit.in(read.Object)).To(Equal(edit.is), at)
				}).Should(Succeed())
			}
		}
		Expect(tried).To(BeNumerically(">", 5), "fields tried")
		k.rest(ctx, obj)
	})

	forEachKind("takes back what others add to a selector", func(ctx SpecContext, k kind) {
		namespace := k.newNamespace(ctx)
		o := operate(namespace)
		obj := k.create(ctx, namespace)
		before := stateAtRest(ctx, o, k, obj)
		found, err := childrenIn(ctx, namespace)
		Expect(err).NotTo(HaveOccurred())
		patches := map[string]string{
			"Service":             `{"spec":{"selector":{"theirs":"1"}}}`,
			"NetworkPolicy":       `{"spec":{"podSelector":{"matchLabels":{"theirs":"1"}}}}`,
			"PodDisruptionBudget": `{"spec":{"selector":{"matchExpressions":[{"key":"theirs","operator":"Exists"}]}}}`,
		}
		for place, child := range found {
			if patch, selects := patches[child.GetKind()]; selects {
				By(place)
				Expect(admin.Patch(ctx, child, client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
			}
		}
		Eventually(func() (string, error) {
			after, err := stateOf(ctx, obj)
			return firstDifference(before, after), err
		}).Should(Equal(same))
	})

	forEachKind("leaves alone what others add", func(ctx SpecContext, k kind) {
		namespace := k.newNamespace(ctx)
		o := operate(namespace)
		obj := k.create(ctx, namespace)
		found, err := childrenIn(ctx, namespace)
		Expect(err).NotTo(HaveOccurred())
		const note, sidecar = "kubectl.kubernetes.io/restartedAt", "injected"
		for _, child := range found {
			Expect(admin.Patch(ctx, child, client.RawPatch(types.MergePatchType,
				[]byte(`{"metadata":{"annotations":{"`+note+`":"now"},"labels":{"theirs":"1"}}}`)))).To(Succeed())
			if _, pods, _ := unstructured.NestedMap(child.Object, "spec", "template", "spec"); !pods {
				continue
			}
			containers, _, err := unstructured.NestedSlice(child.Object, "spec", "template", "spec", "containers")
			Expect(err).NotTo(HaveOccurred())
			injected := containers[0].(map[string]any)
			for _, field := range []string{"ports", "readinessProbe", "livenessProbe", "startupProbe", "volumeMounts"} {
				delete(injected, field)
			}
			injected["name"] = sidecar
			Expect(unstructured.SetNestedSlice(child.Object, append([]any{injected}, original(child)...), "spec", "template", "spec",
				"containers")).To(Succeed())
			Expect(unstructured.SetNestedField(child.Object, "now", "spec", "template", "metadata", "annotations", note)).To(Succeed())
			Expect(admin.Update(ctx, child)).To(Succeed())
		}
		kept := func() {
			GinkgoHelper()
			after, err := childrenIn(ctx, namespace)
			Expect(err).NotTo(HaveOccurred())
			for place := range found {
				child, still := after[place]
				if !still {
					continue // the edit did without it
				}
				Expect(child.GetAnnotations()).To(HaveKeyWithValue(note, "now"), place)
				Expect(child.GetLabels()).To(HaveKeyWithValue("theirs", "1"), place)
				if template, pods, _ := unstructured.NestedMap(child.Object, "spec", "template"); pods {
					Expect(fmt.Sprint(template)).To(And(ContainSubstring(note+":now"), ContainSubstring("name:"+sidecar)), place)
				}
			}
		}
		k.rest(ctx, obj)
		waitForRest(o)
		kept()
		if k.edit != nil {
			update(ctx, obj, k.edit)
			k.rest(ctx, obj)
			waitForRest(o)
			kept()
		}
	})
})

func original(child *unstructured.Unstructured) []any {
	containers, _, _ := unstructured.NestedSlice(child.Object, "spec", "template", "spec", "containers")
	return containers
}

func uidOf(ctx context.Context, obj client.Object) (types.UID, error) {
	read, err := live(ctx, obj)
	if err != nil {
		return obj.GetUID(), client.IgnoreNotFound(err)
	}
	return read.GetUID(), nil
}

// leaf is one scalar field of a child that our field manager owns.
type leaf struct {
	path  []any // keys and indices
	is    any
	other any // of the same type
}

// owned gives all scalars that our apply owns, as managedFields show.
func owned(child *unstructured.Unstructured) []leaf {
	GinkgoHelper()
	for _, entry := range child.GetManagedFields() {
		if entry.Manager != "mainstay-operator" || entry.Subresource != "" {
			continue
		}
		var fields map[string]any
		Expect(json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields)).To(Succeed())
		found := leaves(fields, child.Object, nil)
		for i := range found {
			if child.GetKind() == "Secret" && found[i].path[0] == "data" {
				found[i].other = "b3RoZXI=" // it is base64
			}
		}
		return found
	}
	Fail(fmt.Sprintf("we own nothing of %s %s", child.GetKind(), child.GetName()))
	return nil
}

func leaves(fields map[string]any, value any, path []any) []leaf {
	var found []leaf
	inItem := false
	if len(path) > 0 {
		_, inItem = path[len(path)-1].(int)
	}
	for key, inner := range fields {
		step, below := descend(key, value)
		if below == nil || step == "ownerReferences" {
			continue
		}
		deeper, _ := inner.(map[string]any)
		if _, isItem := step.(int); isItem && len(deeper) == 0 || inItem && names(value, step) {
			continue
		}
		at := append(slices.Clone(path), step)
		if list, isList := below.([]any); isList && len(deeper) == 0 {
			for i := range list { // atomic: all of it is ours
				found = append(found, scalar(append(slices.Clone(at), i), list[i])...)
			}
			continue
		}
		if len(deeper) > 0 {
			found = append(found, leaves(deeper, below, at)...)
			continue
		}
		found = append(found, scalar(at, below)...)
	}
	return found
}

// names is true for a field by which a list distinguishes its items. To edit it is
// to take our item away, which comes back, and to add another, which is foreign
// and left. Not so for the numbers of ports: two of one name cannot stand.
func names(item any, step any) bool {
	fields, _ := item.(map[string]any)
	_, isMount := fields["mountPath"]
	switch step {
	case "topologyKey", "whenUnsatisfiable", "mountPath":
		return true
	case "name":
		_, isPort := fields["protocol"]
		return !isPort && !isMount
	}
	return false
}

// descend follows one step of managedFields: f:field, k:{"name":"a"}, v:"a".
func descend(key string, value any) (step, below any) {
	kind, rest, _ := strings.Cut(key, ":")
	switch v := value.(type) {
	case map[string]any:
		if kind == "f" {
			return rest, v[rest]
		}
	case []any:
		var want map[string]any
		if kind != "k" || json.Unmarshal([]byte(rest), &want) != nil {
			return nil, nil
		}
		for i := range v {
			item, _ := v[i].(map[string]any)
			matches := true
			for name, is := range want {
				matches = matches && fmt.Sprint(item[name]) == fmt.Sprint(is)
			}
			if matches {
				return i, item
			}
		}
	}
	return nil, nil
}

func scalar(path []any, value any) []leaf {
	switch v := value.(type) {
	case string:
		return []leaf{{path, v, v + "x"}}
	case bool:
		return []leaf{{path, v, !v}}
	case int64:
		return []leaf{{path, v, v + 1}}
	case map[string]any: // atomic
		var found []leaf
		for key, inner := range v {
			found = append(found, scalar(append(slices.Clone(path), key), inner)...)
		}
		return found
	}
	return nil
}

// pointer is the path as JSON patch writes it.
func (l leaf) pointer() string {
	var b strings.Builder
	for _, step := range l.path {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(fmt.Sprint(step)))
	}
	return b.String()
}

// in reads the leaf of an object.
func (l leaf) in(value any) any {
	for _, step := range l.path {
		switch at := step.(type) {
		case string:
			fields, _ := value.(map[string]any)
			value = fields[at]
		case int:
			list, _ := value.([]any)
			if at >= len(list) {
				return nil
			}
			value = list[at]
		}
	}
	return value
}
