package chart

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/mainstay-operator/mainstay-operator/test/releases"
)

// hooks returns the Memcached and the pod that `helm test` makes.
func hooks(t *testing.T, set ...string) (memcached, pod *unstructured.Unstructured) {
	t.Helper()
	text, err := tool(t, "helm", append([]string{"template", "mainstay-operator", within(t, chart), "--namespace", namespace,
		"--show-only", "templates/tests/operator.yaml"}, setting(set)...)...)
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]*unstructured.Unstructured{}
	for _, object := range objectsOf(t, text) {
		o := &unstructured.Unstructured{Object: object}
		objects[o.GetKind()] = o
		if o.GetAnnotations()["helm.sh/hook"] != "test" {
			t.Errorf("%s is not made by helm test alone: %v", o.GetKind(), o.GetAnnotations())
		}
	}
	if len(objects) != 2 || objects["Memcached"] == nil || objects["Pod"] == nil {
		t.Fatalf("helm test makes %v", objects)
	}
	return objects["Memcached"], objects["Pod"]
}

// The operator manages the Memcached, and the pod mounts what it makes of it.
func TestHelmTestAsksTheOperator(t *testing.T) {
	for place, set := range map[string][]string{
		namespace: nil,
		"shop":    {"watchNamespaces={shop,bank}", "image.repository=r.example/m"},
	} {
		memcached, pod := hooks(t, set...)
		if memcached.GetNamespace() != place || pod.GetNamespace() != place {
			t.Errorf("%v: they are in %s and %s, not in %s", set, memcached.GetNamespace(), pod.GetNamespace(), place)
		}
		first, second := memcached.GetAnnotations()["helm.sh/hook-weight"], pod.GetAnnotations()["helm.sh/hook-weight"]
		if first >= second {
			t.Errorf("the Memcached has the weight %s, and the pod, which waits for it, %s", first, second)
		}
		mounted := textAt(pod.Object, "spec.volumes.servers.configMap.name")
		if mounted != memcached.GetName()+"-servers" || textAt(pod.Object, "spec.containers.test.volumeMounts.servers.mountPath") == "" {
			t.Errorf("the pod mounts %q", mounted)
		}
		image := textAt(rendered(t, set...)[deployment], manager("image"))
		if got := textAt(pod.Object, "spec.containers.test.image"); got != image || image == "" {
			t.Errorf("the pod runs %q, the operator %q", got, image)
		}
	}
}

func TestTheAPIServerAcceptsTheObjectOfHelmTest(t *testing.T) {
	memcached, _ := hooks(t)
	schema, err := releases.SchemaFor(within(t, "config/crd/bases"), memcached)
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Read(memcached); err != nil {
		t.Error(err)
	}
	if err := schema.Validate(memcached); err != nil {
		t.Error(err)
	}
}

// A pod with the manager's labels would be an endpoint of its Service, and count in its PodDisruptionBudget.
func TestThePodOfHelmTestIsNoManager(t *testing.T) {
	_, pod := hooks(t)
	selector := labels.Set{}
	for name, value := range children(elementOf(elementOf(rendered(t)[deployment]["spec"], "selector"), "matchLabels")) {
		selector[name] = fmt.Sprint(value)
	}
	if len(selector) == 0 || selector.AsSelector().Matches(labels.Set(pod.GetLabels())) {
		t.Errorf("the pod has the labels %v, and the manager's are %v", pod.GetLabels(), selector)
	}
}

// Its pod runs on the nodes on which the manager may run, and pulls the image with the same Secrets.
func TestThePodOfHelmTestIsPlacedAsTheManagerIs(t *testing.T) {
	set := []string{preferred + "[0].weight=7", "nodeSelector.pool=system", "tolerations[0].key=pool", "imagePullSecrets[0].name=registry",
		"watchNamespaces={shop}"}
	_, pod := hooks(t, set...)
	manager := rendered(t, set...)[deployment]
	for _, field := range []string{"affinity", "nodeSelector", "tolerations", "imagePullSecrets"} {
		want := textAt(manager, "spec.template.spec."+field)
		if got := textAt(pod.Object, "spec."+field); got != want || want == "" {
			t.Errorf("%s of the pod is %q, and of the manager %q", field, got, want)
		}
	}
}
