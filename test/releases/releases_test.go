package releases

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/mainstay-operator/mainstay-operator/test/cluster"
)

func TestTheLastReleaseIsTheNewest(t *testing.T) {
	root := t.TempDir()
	if _, err := Last(root); err == nil {
		t.Error("there is none")
	}
	for _, name := range []string{"v0.9.0", "v0.10.0", "v0.10.0-rc.1", "vessel"} {
		if err := os.MkdirAll(filepath.Join(root, kept, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if last, err := Last(root); err != nil || filepath.Base(last) != "v0.10.0" {
		t.Error(last, err)
	}
}

// An object is read and judged as an API server with this tree's CRDs does it.
func TestSchema(t *testing.T) {
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	memcached := func(spec map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "cache.mainstay-operator.io/v1alpha1", "kind": "Memcached",
			"metadata": map[string]any{"name": "a", "namespace": "default"}, "spec": spec,
		}}
	}
	schema, err := SchemaFor(filepath.Join(root, "config/crd/bases"), memcached(nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		reason string
		spec   map[string]any
		words  string
	}{
		{"defaults make it whole", map[string]any{}, ""},
		{"an unknown field", map[string]any{"sise": int64(1)}, "spec.sise"},
		{"a value out of bounds", map[string]any{"size": int64(257)}, "spec.size"},
		{"a broken rule", map[string]any{"memory": "8Mi", "maxItemSize": "8Mi"}, "maxItemSize must be at most half of memory"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			obj := memcached(c.spec)
			err := schema.Read(obj)
			if err == nil {
				err = schema.Validate(obj)
			}
			if c.words == "" && err != nil || c.words != "" && (err == nil || !strings.Contains(err.Error(), c.words)) {
				t.Errorf("want %q, got %v", c.words, err)
			}
			if port, _, _ := unstructured.NestedInt64(obj.Object, "spec", "port"); port != 11211 {
				t.Errorf("the default of port is not there: %d", port)
			}
		})
	}
}

func TestANewKindIsOneThatTheBundleLacks(t *testing.T) {
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	last, err := Last(root)
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]bool{"Redis": false, "Sundial": true} {
		if is, err := isNewKind(last, kind); err != nil || is != want {
			t.Errorf("%s is new: %t, %v", kind, is, err)
		}
	}
	if _, err := isNewKind(t.TempDir(), "Redis"); err == nil {
		t.Error("a release without a bundle has no kinds")
	}
}

func TestSame(t *testing.T) {
	for is, words := range map[string]string{"a\nb": "", "a\nc": `line 2 was "b" and is "c"`, "a\nb\nc": `line 3, "c", is new`,
		"a": `line 2, "b", is gone`} {
		if err := Same([]byte("a\nb"), []byte(is)); words == "" && err != nil || words != "" &&
			(err == nil || !strings.Contains(err.Error(), words)) {
			t.Errorf("%q: %v", is, err)
		}
	}
}
