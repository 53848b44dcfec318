package converge

import (
	"reflect"
	"strings"
)

// isSubset reports whether live has every value that desired sets. Keys and named list items that only live has are
// foreign (defaults, injected sidecars, annotations of others) and do not matter. A zero value equals an absent one,
// since the API drops zero values on its way to us.
//
// A wrong false costs one apply that changes nothing; a wrong true would leave a foreign edit in place. So it returns
// false when in doubt.
func isSubset(desired, live any) bool {
	switch want := desired.(type) {
	case map[string]any:
		have, ok := live.(map[string]any)
		if !ok && live != nil {
			return false
		}
		for key, value := range want {
			if !isSubset(value, have[key]) || isAtomic(key) && have[key] != nil && !isSubset(have[key], value) {
				return false
			}
		}
		return true
	case []any:
		have, ok := live.([]any)
		return (ok || live == nil) && isListSubset(want, have)
	default:
		return sameScalar(desired, live)
	}
}

// isAtomic reports whether the API server treats the field as one value with one owner, such as a selector: a key that
// somebody adds to ours makes it select something else.
func isAtomic(key string) bool {
	return strings.HasSuffix(strings.ToLower(key), "selector") || key == "nodeSelectorTerms"
}

// isListSubset compares named items by name and everything else in order.
func isListSubset(want, have []any) bool {
	named := byName(have)
	if byName(want) == nil || named == nil {
		if len(want) != len(have) {
			return false
		}
		for i := range want {
			if !isSubset(want[i], have[i]) {
				return false
			}
		}
		return true
	}
	for _, item := range want {
		live, ok := named[item.(map[string]any)["name"]]
		if !ok || !isSubset(item, live) {
			return false
		}
	}
	return true
}

// byName indexes a list by name, or returns nil unless every item has a name of its own.
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
	return asNumber(desired) == asNumber(live)
}

// asNumber makes the integers of JSON and of Go comparable.
func asNumber(value any) any {
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
