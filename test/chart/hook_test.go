package chart

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/mainstay-operator/mainstay-operator/test/releases"
)

// hooks returns what `helm test` makes, in the order in which it does: the Memcached twice, with a ConfigMap in between, and the pod.
func hooks(t *testing.T, set ...string) (paused, left, memcached, pod *unstructured.Unstructured) {
	t.Helper()
	text, err := tool(t, "helm", append([]string{"template", "mainstay-operator", within(t, chart), "--namespace", namespace,
		"--show-only", "templates/tests/operator.yaml"}, setting(set)...)...)
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]*unstructured.Unstructured{}
	for _, object := range objectsOf(t, text) {
		o := &unstructured.Unstructured{Object: object}
		at := o.GetAnnotations()[weight]
		if made[at] != nil || o.GetAnnotations()["helm.sh/hook"] != "test" {
			t.Errorf("%s is not made by helm test alone, at a weight of its own: %v", o.GetKind(), o.GetAnnotations())
		}
		// Helm replaces what an earlier test left, and removes what this one made.
		if policy := o.GetAnnotations()["helm.sh/hook-delete-policy"]; policy != "before-hook-creation,hook-succeeded" {
			t.Errorf("%s is deleted by the policy %q", o.GetKind(), policy)
		}
		made[at] = o
	}
	var kinds []string
	for _, at := range slices.Sorted(maps.Keys(made)) {
		kinds = append(kinds, made[at].GetKind())
	}
	if !slices.Equal(kinds, []string{"Memcached", "ConfigMap", "Memcached", "Pod"}) || made["0"] == nil || made["3"] == nil {
		t.Fatalf("helm test makes %q", kinds)
	}
	return made["0"], made["1"], made["2"], made["3"]
}

// The operator manages the Memcached, and the pod mounts what it makes of it.
func TestHelmTestAsksTheOperator(t *testing.T) {
	for place, set := range map[string][]string{
		namespace: nil,
		"shop":    {"watchNamespaces={shop,bank}", "image.repository=r.example/m"},
	} {
		_, _, memcached, pod := hooks(t, set...)
		if memcached.GetNamespace() != place || pod.GetNamespace() != place {
			t.Errorf("%v: they are in %s and %s, not in %s", set, memcached.GetNamespace(), pod.GetNamespace(), place)
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

// A Memcached and a ConfigMap that an earlier test left are replaced by what starts no pod: TestARelease has Helm do it.
func TestNothingThatAnEarlierTestLeftStartsThePod(t *testing.T) {
	for _, set := range [][]string{nil, {"watchNamespaces={shop,bank}"}} {
		paused, left, memcached, pod := hooks(t, set...)
		if paused.GetName() != memcached.GetName() || paused.GetNamespace() != memcached.GetNamespace() {
			t.Errorf("%s/%s is paused, not %s/%s", paused.GetNamespace(), paused.GetName(), memcached.GetNamespace(), memcached.GetName())
		}
		if textAt(paused.Object, "spec.paused") != "true" || textAt(memcached.Object, "spec.paused") != "" {
			t.Errorf("the first Memcached must be paused, and the second must not: %v, %v", paused.Object, memcached.Object)
		}
		if left.GetName() != textAt(pod.Object, "spec.volumes.servers.configMap.name") || left.GetNamespace() != pod.GetNamespace() {
			t.Errorf("the pod does not mount %s/%s", left.GetNamespace(), left.GetName())
		}
		key := textAt(pod.Object, "spec.volumes.servers.configMap.items.0.key")
		if key != "endpoint" || textAt(left.Object, "data") != "" || textAt(left.Object, "binaryData") != "" {
			t.Errorf("the pod asks for the key %q, and the ConfigMap must have none: %v", key, left.Object)
		}
		if owners := left.GetOwnerReferences(); len(owners) != 1 || owners[0].BlockOwnerDeletion != nil {
			t.Errorf("the garbage collector removes the ConfigMap by an owner that does not exist, and it has %v", owners)
		}
	}
}

func TestTheAPIServerAcceptsTheObjectsOfHelmTest(t *testing.T) {
	paused, _, memcached, _ := hooks(t)
	schema, err := releases.SchemaFor(within(t, "config/crd/bases"), memcached)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range []*unstructured.Unstructured{paused, memcached} {
		if err := errors.Join(schema.Read(object), schema.Validate(object)); err != nil {
			t.Error(err)
		}
	}
}

// A pod with the manager's labels would be an endpoint of its Service, and count in its PodDisruptionBudget.
func TestThePodOfHelmTestIsNoManager(t *testing.T) {
	_, _, _, pod := hooks(t)
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
	_, _, _, pod := hooks(t, set...)
	manager := rendered(t, set...)[deployment]
	for _, field := range []string{"affinity", "nodeSelector", "tolerations", "imagePullSecrets"} {
		want := textAt(manager, "spec.template.spec."+field)
		if got := textAt(pod.Object, "spec."+field); got != want || want == "" {
			t.Errorf("%s of the pod is %q, and of the manager %q", field, got, want)
		}
	}
}
