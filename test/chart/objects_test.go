package chart

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// weight is the annotation by which Helm orders the objects of a hook.
const weight = "helm.sh/hook-weight"

// objectsOf returns the objects of a stream by kind, namespace and name, and with its weight one that a hook makes: a hook may make
// several of one name, one after the other.
func objectsOf(t *testing.T, text string) map[string]map[string]any {
	t.Helper()
	objects, err := readObjects(text)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// readObjects refuses what an API server or kubectl would drop in silence: a key that is there twice, and a field that the kind does not
// have.
func readObjects(text string) (map[string]map[string]any, error) {
	objects := map[string]map[string]any{}
	stream := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		document, err := stream.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(document, &object.Object); err != nil {
			return nil, fmt.Errorf("%w:\n%s", err, document)
		}
		if object.Object == nil { // between two separators
			continue
		}
		key := fmt.Sprintf("%s %s/%s", object.GetKind(), object.GetNamespace(), object.GetName())
		if at, hooked := object.GetAnnotations()[weight]; hooked {
			key += " with the weight " + at
		}
		if err := checkFields(object.GetKind(), document); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		if objects[key] != nil {
			return nil, fmt.Errorf("%s is there twice", key)
		}
		objects[key] = object.Object
	}
}

// checkedElsewhere are kinds of which no type reports unknown fields: TestTheServiceMonitorIsThatOfConfig compares them, or
// TestTheAPIServerAcceptsTheObjectsOfHelmTest asks the CRD.
var checkedElsewhere = []string{"ServiceMonitor", "Memcached"}

// checkFields returns an error for a field that the object's kind does not have.
func checkFields(kind string, document []byte) error {
	if slices.Contains(checkedElsewhere, kind) {
		return nil
	}
	known := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(known), apiextensionsv1.AddToScheme(known)); err != nil {
		return err
	}
	_, _, err := serializer.NewCodecFactory(known, serializer.EnableStrict).UniversalDeserializer().Decode(document, nil, nil)
	return err
}

func TestWhatIsDroppedInSilenceIsFound(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n"
	for name, c := range map[string]struct {
		text, words string
	}{
		"a key twice":                 {pod + "  labels:\n    b: c\n    b: d\n", `key "b" already set`},
		"an unknown field":            {pod + "spec:\n  hostname: b\n  hostNames: c\n", `unknown field "spec.hostNames"`},
		"a text in place of a number": {"apiVersion: apps/v1\nkind: Deployment\nspec:\n  replicas: two\n", "cannot unmarshal string"},
		"an unknown kind":             {"apiVersion: v1\nkind: Pot\n", "no kind"},
		"an object twice":             {pod + "---\n" + pod, "is there twice"},
	} {
		if _, err := readObjects(c.text); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v", name, err)
		}
	}
	monitor := "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata:\n  labels:\n    b: c\n"
	if _, err := readObjects(pod + "---\n---\n" + monitor); err != nil {
		t.Error(err)
	}
	if _, err := readObjects(monitor + "    b: d\n"); err == nil || !strings.Contains(err.Error(), "already set") {
		t.Errorf("a label of a ServiceMonitor twice: %v", err)
	}
}
