package v1

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Limits of a quantity that is read. resource.ParseQuantity computes 10^n, so the cost of 1e-2000000000 has no bound, and
// that of long digits grows with the square of their number. Within these limits a value fits into some 3,500 bits.
const (
	maxDigits         = 64 // of the number, its point included
	maxExponentDigits = 3  // without leading zeros
)

// costlyError names a quantity that is beyond the limits. It does not repeat it: it may be long.
type costlyError struct{ path []string }

func (c costlyError) Error() string {
	const words = "a quantity of more than 64 digits, or of more than 3 in its exponent, is not read, because computing it could take " +
		"minutes; write a shorter one"
	if len(c.path) == 0 {
		return words
	}
	return strings.Join(c.path, ".") + ": " + words
}

// isCostly reports whether a text holds a number that is beyond the limits, wherever in the text it is. It allocates nothing.
func isCostly(text []byte) bool {
	digits := 0
	for i, c := range text {
		switch {
		case '0' <= c && c <= '9', c == '.':
			if digits++; digits > maxDigits {
				return true
			}
			continue
		case digits > 0 && (c == 'e' || c == 'E'):
			if hasLongExponent(text[i+1:]) {
				return true
			}
		}
		digits = 0
	}
	return false
}

// hasLongExponent reports whether a text starts with an exponent of too many digits.
func hasLongExponent(text []byte) bool {
	if len(text) > 0 && (text[0] == '+' || text[0] == '-') {
		text = text[1:]
	}
	digits := 0
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
		if digits > 0 || c != '0' {
			digits++
		}
		if digits > maxExponentDigits {
			return true
		}
	}
	return false
}

// findCostly returns the path of a quantity that is beyond the limits in the JSON of a type, nil for none. Elsewhere, as in
// the value of a variable, the same text is only a text.
func findCostly(t reflect.Type, data []byte) ([]string, error) {
	if !isCostly(data) {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber() // which leaves numbers as texts
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return quantitiesOf(t).find(value), nil
}

// quantityPaths says where a type has quantities. Nil stands for a type that has none.
type quantityPaths struct {
	isQuantity bool
	fields     map[string]*quantityPaths // of a struct, by their lower-case names: encoding/json ignores case
	elements   *quantityPaths            // of a list or a map
}

// find returns the first path that leads to a costly quantity in decoded JSON, nil if none does.
func (q *quantityPaths) find(value any) []string {
	if q == nil {
		return nil
	}
	switch value := value.(type) {
	case string:
		if q.isQuantity && isCostly([]byte(value)) {
			return []string{}
		}
	case json.Number:
		return q.find(string(value))
	case []any:
		for i, element := range value {
			if path := q.elements.find(element); path != nil {
				return append([]string{"[" + strconv.Itoa(i) + "]"}, path...)
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			inner := q.elements
			if q.fields != nil {
				inner = q.fields[strings.ToLower(key)]
			}
			if path := inner.find(value[key]); path != nil {
				return append([]string{key}, path...)
			}
		}
	}
	return nil
}

var quantitiesOfTypes sync.Map // reflect.Type to *quantityPaths

func quantitiesOf(t reflect.Type) *quantityPaths {
	if known, ok := quantitiesOfTypes.Load(t); ok {
		return known.(*quantityPaths)
	}
	found := searchQuantities(t)
	quantitiesOfTypes.Store(t, found)
	return found
}

// searchQuantities assumes that no type contains itself, as controller-gen does.
func searchQuantities(t reflect.Type) *quantityPaths {
	if t == reflect.TypeFor[resource.Quantity]() {
		return &quantityPaths{isQuantity: true}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return searchQuantities(t.Elem())
	case reflect.Slice, reflect.Array, reflect.Map:
		if elements := searchQuantities(t.Elem()); elements != nil {
			return &quantityPaths{elements: elements}
		}
	case reflect.Struct:
		fields := map[string]*quantityPaths{}
		for i := range t.NumField() {
			field := t.Field(i)
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "-" || !field.IsExported() {
				continue
			}
			inner := searchQuantities(field.Type)
			switch {
			case inner == nil:
			case field.Anonymous && name == "":
				maps.Copy(fields, inner.fields)
			case name == "":
				fields[strings.ToLower(field.Name)] = inner
			default:
				fields[strings.ToLower(name)] = inner
			}
		}
		if len(fields) > 0 {
			return &quantityPaths{fields: fields}
		}
	}
	return nil
}
