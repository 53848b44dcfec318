package null

import (
	"testing"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var (
	learned = identity{"bench-abcde", "bench-00000", "0b1f"}
	another = identity{"bench-fghij", "bench-00042", "77aa"}
)

func service(clusterIP string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{"name": "bench-00000", "namespace": "bench-abcde", "uid": "f00d", "resourceVersion": "7",
			"labels":          map[string]any{"app.kubernetes.io/instance": "bench-00000"},
			"ownerReferences": []any{map[string]any{"uid": "0b1f", "name": "bench-00000"}}},
		"spec": map[string]any{"clusterIP": clusterIP, "clusterIPs": []any{clusterIP},
			"ports": []any{map[string]any{"port": int64(80), "nodePort": int64(30000)}}},
		"status": map[string]any{"loadBalancer": map[string]any{}},
	}}
}

func TestAChildOfAnotherObject(t *testing.T) {
	g := Generation{from: learned, children: []*unstructured.Unstructured{withoutServersFields(service("10.0.0.1"))},
		status: map[string]any{"replicas": int64(1), "selector": "instance=bench-00000"}}
	children, err := g.childrenFor(another)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{"name": "bench-00042", "namespace": "bench-fghij",
			"labels":          map[string]any{"app.kubernetes.io/instance": "bench-00042"},
			"ownerReferences": []any{map[string]any{"uid": "77aa", "name": "bench-00042"}}},
		"spec": map[string]any{"ports": []any{map[string]any{"port": int64(80)}}},
	}
	if !apiequality.Semantic.DeepEqual(children[0].Object, want) {
		t.Errorf("%v", children[0].Object)
	}
	patch, err := g.statusFor(another)
	if err != nil {
		t.Fatal(err)
	}
	text, err := patch.Data(nil)
	if want := `{"status":{"replicas":1,"selector":"instance=bench-00042"}}`; err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
}

func TestAHeadlessServiceStaysHeadless(t *testing.T) {
	address, found, err := unstructured.NestedString(withoutServersFields(service("None")).Object, "spec", "clusterIP")
	if address != "None" || !found || err != nil {
		t.Errorf("%q, %v, %v", address, found, err)
	}
}

func TestChangesBetween(t *testing.T) {
	child := func(name, value string) *unstructured.Unstructured {
		c := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"key": value}}}
		c.SetName(name)
		return c
	}
	before := []*unstructured.Unstructured{child("same", "1"), child("changed", "1"), child("deleted", "1")}
	after := []*unstructured.Unstructured{child("same", "1"), child("changed", "2"), child("created", "1")}
	got := changesBetween(before, after)
	want := []change{{before[1], after[1]}, {nil, after[2]}, {before[2], nil}}
	if len(got) != len(want) {
		t.Fatalf("%d changes", len(got))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("change %d is %v", i, got[i])
		}
	}
	if all := changesBetween(nil, after); len(all) != len(after) {
		t.Errorf("%d of %d are created", len(all), len(after))
	}
}
