package main

import (
	"strings"
	"testing"
)

func TestUnchanged(t *testing.T) {
	got := unchanged(fields{names: []string{"host"}, defaulted: []string{"retries"}})
	want := "self.retries == oldSelf.retries && has(self.host) == has(oldSelf.host) && (!has(self.host) || self.host == oldSelf.host)"
	if got["rule"] != want {
		t.Errorf("got %s", got["rule"])
	}
	if !strings.Contains(got["message"].(string), "not host or retries:") {
		t.Errorf("got %s", got["message"])
	}
}

func TestFreezeNewFields(t *testing.T) {
	freeze := func(name string, schema map[string]any) error {
		return freezeNewFields(map[string]any{"properties": map[string]any{name: schema}})
	}
	list := map[string]any{"type": "array", "default": []any{}}
	if err := freeze("planted", list); err != nil || list["x-kubernetes-validations"] == nil {
		t.Errorf("a new list can be changed: %v, %v", list, err)
	}
	for _, valueType := range []string{"array", "object", "string"} {
		if err := freeze("planted", map[string]any{"type": valueType}); err == nil || !strings.Contains(err.Error(), "spec.planted") {
			t.Errorf("a new %s without a default is accepted: %v", valueType, err)
		}
	}
	suspend := map[string]any{"type": "boolean"}
	if err := freeze("suspend", suspend); err != nil || suspend["x-kubernetes-validations"] != nil {
		t.Errorf("suspend cannot be changed: %v, %v", suspend, err)
	}
}
