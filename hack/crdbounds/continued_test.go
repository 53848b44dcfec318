package main

import (
	"reflect"
	"strings"
	"testing"
)

func TestJoinContinued(t *testing.T) {
	schema := map[string]any{"properties": map[string]any{"size": map[string]any{"x-kubernetes-validations": []any{
		map[string]any{"rule": "self > 0"},
		map[string]any{"rule": "... && self < 9", "fieldPath": ".size", "message": "size is a number"},
		map[string]any{"rule": "...", "message": "from 1 to 8"},
		map[string]any{"rule": "self != 4", "message": "size is not 4"},
	}}}}
	if err := replaceRules([]any{schema}, joinContinued); err != nil {
		t.Fatal(err)
	}
	got := schema["properties"].(map[string]any)["size"].(map[string]any)["x-kubernetes-validations"]
	want := []any{
		map[string]any{"rule": "self > 0 && self < 9", "fieldPath": ".size", "message": "size is a number from 1 to 8"},
		map[string]any{"rule": "self != 4", "message": "size is not 4"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAPartWithoutARuleIsRefused(t *testing.T) {
	if _, err := joinContinued([]any{map[string]any{"rule": "... && self < 9"}}); err == nil || !strings.Contains(err.Error(), "self < 9") {
		t.Errorf("a marker that continues no other is accepted: %v", err)
	}
}

func TestAnOptionIsNotSetTwice(t *testing.T) {
	optional := func(rule string) any { return map[string]any{"rule": rule, "optionalOldSelf": true} }
	if _, err := joinContinued([]any{optional("self > 0"), optional("...")}); err == nil || !strings.Contains(err.Error(), "optionalOldSelf") {
		t.Errorf("an option that two parts of a rule set is accepted: %v", err)
	}
}
