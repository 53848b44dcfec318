package v1

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Reading says how an object was read. Every kind embeds it; it is never sent.
type Reading struct {
	// Unreadable are the fields that were left out, and why; empty for none.
	Unreadable string `json:"-"`
}

// GetUnreadable gives the fields that were left out, and why.
func (r Reading) GetUnreadable() string { return r.Unreadable }

// Read decodes an object, without those fields of its spec and status that no Go value
// can hold, or whose value costs more than its length. A schema admits such values, as a
// quantity of 1e1.5 or a number beyond 32 bits, and an older one also 1e-2000000000. One
// object with one would keep anyone who lists the kind from all the others.
// The JSON is the API server's, which writes each key once.
func Read[T any](data []byte) (object T, unreadable string, err error) {
	if unmarshal(data, &object) == nil {
		return object, "", nil
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(data, &parts); err != nil {
		return object, "", err
	}
	var left []string
	for part, prefix := range map[string]string{"spec": "", "status": "status."} {
		var fields map[string]json.RawMessage
		if json.Unmarshal(parts[part], &fields) != nil {
			continue // there is no such part
		}
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if problem := readable[T](part, name, fields[name]); problem != nil {
				left = append(left, prefix+name+": "+problem.Error())
				delete(fields, name)
			}
		}
		parts[part] = encoded(fields)
	}
	slices.Sort(left)
	var rest T
	err = unmarshal(encoded(parts), &rest)
	return rest, strings.Join(left, "; "), err
}

// readable is nil for a field that an object of nothing else can be read with.
func readable[T any](part, name string, value json.RawMessage) error {
	var alone T
	err := unmarshal(encoded(map[string]map[string]json.RawMessage{part: {name: value}}), &alone)
	if costly := (costlyError{}); errors.As(err, &costly) {
		return costlyError{path: costly.path[2:]} // the part and the name are known
	}
	return err
}

// unmarshal is json.Unmarshal at a cost in proportion to the length of the JSON.
func unmarshal[T any](data []byte, object *T) error {
	path, err := findCostly(reflect.TypeFor[T](), data)
	switch {
	case err != nil:
		return err
	case path != nil:
		return costlyError{path: path}
	}
	return json.Unmarshal(data, object)
}

func encoded(value any) json.RawMessage {
	text, _ := json.Marshal(value) // of what was just decoded there is no error
	return text
}
