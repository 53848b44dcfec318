package main

import (
	"strings"
	"testing"
)

func TestReplaceBuilt(t *testing.T) {
	rule := map[string]any{"rule": builtPrefix + "redis.config"}
	if _, err := replaceBuilt([]any{rule}); err != nil {
		t.Fatal(err)
	}
	if text := rule["rule"].(string); !strings.HasPrefix(text, "self.all(k, k in ['maxmemory',") {
		t.Errorf("got %s", text)
	}
	_, err := replaceBuilt([]any{map[string]any{"rule": builtPrefix + "unknown"}})
	if err == nil || !strings.Contains(err.Error(), `"unknown"`) {
		t.Errorf("a marker with an unknown name is accepted: %v", err)
	}
}
