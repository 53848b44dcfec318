package chart

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const keepPolicy = "helm.sh/resource-policy"

// With each scope the chart makes what the kustomization for it makes, field by field.
func TestTheChartRendersWhatKustomizeBuilds(t *testing.T) {
	for folder, set := range map[string][]string{
		"config/default":    nil,
		"config/namespaced": {"scope=Namespace"},
	} {
		t.Run(folder, func(t *testing.T) {
			want := built(t, folder)
			// Helm itself makes the release's namespace, or uses one that exists: it must outlive the release.
			delete(want, "Namespace /"+namespace)
			for _, difference := range compare(want, kept(t, rendered(t, set...))) {
				t.Error(difference)
			}
		})
	}
}

func TestTheServiceMonitorIsThatOfConfig(t *testing.T) {
	without, with := rendered(t), rendered(t, "serviceMonitor.enabled=true")
	for key := range without {
		delete(with, key)
	}
	for _, difference := range compare(built(t, "config/prometheus"), with) {
		t.Error(difference)
	}
}

// kept returns the objects without the annotation by which Helm leaves the CRDs, which each CRD and nothing else must have.
func kept(t *testing.T, objects map[string]map[string]any) map[string]map[string]any {
	t.Helper()
	for key, object := range objects {
		o := unstructured.Unstructured{Object: object}
		annotations := o.GetAnnotations()
		if want := o.GetKind() == "CustomResourceDefinition"; (annotations[keepPolicy] == "keep") != want {
			t.Errorf("%s has the annotations %v; Helm keeps a CRD, and no other object", key, annotations)
		}
		if _, set := annotations[keepPolicy]; set {
			delete(annotations, keepPolicy)
			o.SetAnnotations(annotations)
		}
	}
	return objects
}

// compare returns how objects differ from those that are wanted.
func compare(want, got map[string]map[string]any) []string {
	var found []string
	for key, object := range want {
		if got[key] == nil {
			found = append(found, key+" is missing")
			continue
		}
		found = append(found, differences(key, got[key], object)...)
	}
	for key := range got {
		if want[key] == nil {
			found = append(found, key+" is made by the chart alone")
		}
	}
	return found
}

func TestADifferenceIsFound(t *testing.T) {
	object := func(replicas int64, ports ...any) map[string]map[string]any {
		return map[string]map[string]any{"Deployment a/b": {"spec": map[string]any{"replicas": replicas, "ports": ports}}}
	}
	for name, c := range map[string]struct {
		want, got map[string]map[string]any
		count     int
	}{
		"the same":              {object(2, "http"), object(2, "http"), 0},
		"another number":        {object(2, "http"), object(3, "http"), 1},
		"another element":       {object(2, "http"), object(2, "https"), 1},
		"an element too many":   {object(2, "http"), object(2, "http", "https"), 1},
		"an element is missing": {object(2, "http"), object(2), 1},
		"an object is missing":  {object(2), nil, 1},
		"an object too many":    {nil, object(2), 1},
	} {
		if found := compare(c.want, c.got); len(found) != c.count {
			t.Errorf("%s: %q", name, found)
		}
	}
}
