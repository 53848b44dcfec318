package converge

import (
	"reflect"
	"strings"
)

// holds is true when live has every value that desired sets. Keys and named
// list items that only live has are foreign (defaults, injected sidecars,
// annotations of others) and do not matter. A zero value equals an absent one,
// since the API drops zero values on its way to us.
//
// A false alarm costs one apply that changes nothing; a false calm would leave
// a foreign edit in place. Where in doubt, it is false.
func holds(desired, live any) bool {
	switch want := desired.(type) {
	case map[string]any:
		have, ok := live.(map[string]any)
		if !ok && live != nil {
			return false
		}
		for key, value := range want {
			if !holds(value, have[key]) || undivided(key) && have[key] != nil && !holds(have[key], value) {
				return false
			}
		}
		return true
	case []any:
		have, ok := live.([]any)
		return (ok || live == nil) && listHolds(want, have)
	default:
		return sameScalar(desired, live)
	}
}

// undivided is true for the fields that the API server takes as one, and of which it
// names one owner: a key that somebody adds to ours makes it choose others.
func undivided(key string) bool {
	return strings.HasSuffix(strings.ToLower(key), "selector") || key == "nodeSelectorTerms"
}

// listHolds compares named items by name and everything else in order.
func listHolds(want, have []any) bool {
	named := byName(have)
	if byName(want) == nil || named == nil {
		if len(want) != len(have) {
			return false
		}
		for i := range want {
			if !holds(want[i], have[i]) {
				return false
			}
		}
		return true
	}
	for _, item := range want {
		live, ok := named[item.(map[string]any)["name"]]
		if !ok || !holds(item, live) {
			return false
		}
	}
	return true
}

// byName indexes a list whose every item has a name of its own, else it is nil.
func byName(list []any) map[any]any {
	index := make(map[any]any, len(list))
	for _, item := range list {
		fields, _ := item.(map[string]any)
		name, ok := fields["name"].(string)
		if !ok || index[name] != nil {
			return nil
		}
		index[name] = item
	}
	return index
}

func sameScalar(desired, live any) bool {
	if live == nil {
		return desired == nil || reflect.ValueOf(desired).IsZero()
	}
	return number(desired) == number(live)
}

// number makes the integers of JSON and of Go comparable.
func number(value any) any {
	switch n := value.(type) {
	case int64:
		return float64(n)
	case int32:
		return float64(n)
	case int:
		return float64(n)
	}
	return value
}
