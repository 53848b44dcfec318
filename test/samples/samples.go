// Package samples knows the objects of config/samples, and of any object of
// the operator when it has become what its spec asks for.
package samples

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// Read gives the objects that the kustomization in dir lists, in its order.
func Read(dir string) ([]*unstructured.Unstructured, error) {
	var kustomization struct {
		Resources []string `json:"resources"`
	}
	if err := readYAML(filepath.Join(dir, "kustomization.yaml"), &kustomization); err != nil {
		return nil, err
	}
	objects := make([]*unstructured.Unstructured, 0, len(kustomization.Resources))
	for _, file := range kustomization.Resources {
		obj := &unstructured.Unstructured{}
		if err := readYAML(filepath.Join(dir, file), &obj.Object); err != nil {
			return nil, err
		}
		objects = append(objects, obj)
	}
	return objects, nil
}

func readYAML(file string, into any) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(content, into); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// Phase is how far an object has come.
type Phase int

// An object is on its way, is ready, or will never be by itself.
const (
	Pending Phase = iota
	Ready
	Failed
)

// PhaseOf returns an object's phase, and the words for it: for what runs, its
// condition Ready of this very generation; for what runs once, its process
// state, or whether it is complete.
func PhaseOf(obj *unstructured.Unstructured) (Phase, string) {
	conditions := conditions(obj)
	prosta, _, _ := unstructured.NestedString(obj.Object, "status", "prosta")
	switch {
	case meta.IsStatusConditionTrue(conditions, commonv1.ConditionFailed):
		return Failed, cmp.Or(prosta, commonv1.ConditionFailed) + ": " + meta.FindStatusCondition(conditions, commonv1.ConditionFailed).Message
	case meta.IsStatusConditionTrue(conditions, commonv1.ConditionComplete):
		return Ready, cmp.Or(prosta, commonv1.ConditionComplete)
	case prosta != "":
		return Pending, prosta
	}
	ready := meta.FindStatusCondition(conditions, commonv1.ConditionReady)
	progressing := meta.FindStatusCondition(conditions, commonv1.ConditionProgressing)
	switch {
	case ready == nil && progressing != nil: // of what is never ready, but complete in the end
		return Pending, fmt.Sprintf("%s: %s", progressing.Reason, progressing.Message)
	case ready == nil || ready.ObservedGeneration != obj.GetGeneration():
		return Pending, "not looked at yet"
	case ready.Status == metav1.ConditionTrue:
		return Ready, commonv1.ConditionReady
	}
	return Pending, fmt.Sprintf("%s: %s", ready.Reason, ready.Message)
}

func conditions(obj *unstructured.Unstructured) []metav1.Condition {
	var status struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &status); err != nil {
		return nil
	}
	return status.Status.Conditions
}
