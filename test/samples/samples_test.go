package samples

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

func TestRead(t *testing.T) {
	objects, err := Read("../../config/samples")
	if err != nil {
		t.Fatal(err)
	}
	for _, obj := range objects {
		if obj.GetName() == "" || obj.GetKind() == "" {
			t.Errorf("a sample without kind or name: %v", obj.Object)
		}
		if obj.GetNamespace() != "" {
			t.Errorf("%s names a namespace: the choice is the user's", obj.GetName())
		}
	}
}

func TestProgress(t *testing.T) {
	for name, test := range map[string]struct {
		object string
		fate   Phase
		words  string
	}{
		"new": {
			object: "metadata: {generation: 1}", fate: Pending, words: "not looked at yet",
		},
		"ready, but for an older generation": {
			object: "{metadata: {generation: 2}, status: {conditions: [{type: Ready, status: 'True', observedGeneration: 1}]}}",
			fate:   Pending, words: "not looked at yet",
		},
		"rolling out": {
			object: "{metadata: {generation: 2}, status: {conditions: [{type: Ready, status: 'False', observedGeneration: 2, reason: Replicas, " +
				"message: 1 of 2 replicas ready}]}}",
			fate: Pending, words: "Replicas: 1 of 2 replicas ready",
		},
		"ready": {
			object: "{metadata: {generation: 2}, status: {conditions: [{type: Ready, status: 'True', observedGeneration: 2}]}}",
			fate:   Ready, words: "Ready",
		},
		"running once": {
			object: "{metadata: {generation: 1}, status: {prosta: Running}}", fate: Pending, words: "Running",
		},
		"has run": {
			object: "{metadata: {generation: 1}, status: {prosta: Succeeded, conditions: [{type: Complete, status: 'True'}]}}",
			fate:   Ready, words: "Succeeded",
		},
		"a restore under way": {
			object: "{metadata: {generation: 1}, status: {conditions: [{type: Progressing, status: 'True', reason: Waiting, message: for the " +
				"backup}]}}",
			fate: Pending, words: "Waiting: for the backup",
		},
		"a backup that is made": {
			object: "{metadata: {generation: 1}, status: {conditions: [{type: Ready, status: 'True', observedGeneration: 1}, {type: Complete, " +
				"status: 'True'}]}}",
			fate: Ready, words: "Complete",
		},
		"a backup that is not made": {
			object: "{metadata: {generation: 1}, status: {conditions: [{type: Failed, status: 'True', message: no such bucket}]}}",
			fate:   Failed, words: "Failed: no such bucket",
		},
		"has failed": {
			object: "{metadata: {generation: 1}, status: {prosta: TimedOut, conditions: [{type: Failed, status: 'True', message: after 10s}]}}",
			fate:   Failed, words: "TimedOut: after 10s",
		},
	} {
		t.Run(name, func(t *testing.T) {
			obj := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(test.object), &obj.Object); err != nil {
				t.Fatal(err)
			}
			if fate, words := PhaseOf(obj); fate != test.fate || words != test.words {
				t.Errorf("%v %q, not %v %q", fate, words, test.fate, test.words)
			}
		})
	}
}
