package controllers

import (
	"maps"
	"slices"
	"testing"
)

func TestNamespaces(t *testing.T) {
	for watch, want := range map[string][]string{
		"":                nil, // as OLM writes it for AllNamespaces
		"shop":            {"shop"},
		"shop,bank":       {"bank", "shop"},
		" shop, bank, ,":  {"bank", "shop"},
		"shop,shop, shop": {"shop"},
	} {
		t.Setenv("WATCH_NAMESPACE", watch)
		got := CacheOptions(NamespacesFromEnv()).DefaultNamespaces
		if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, want) {
			t.Errorf("%q: %q", watch, names)
		}
		if len(want) == 0 && got != nil {
			t.Errorf("%q: an empty list is none, not all", watch)
		}
	}
}
