// Command crdbounds adds rules to the CRDs that controller-gen wrote: they bound the quantities in Kubernetes' own types,
// on which no marker can be put. Quantities of our types bear their rule as a marker. It also joins the rules that take several
// markers, and builds those whose parts are alike.
//
// The bounds are rules, not a pattern, because OLM checks every stored object against the patterns of a new CRD before it
// upgrades, and one object would stop that upgrade for everybody. Rules are not among what it checks, and the API server
// does not apply them to fields that an update leaves as they are.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	k8syaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: crdbounds <folder of CRDs>")
		os.Exit(2)
	}
	files, err := filepath.Glob(filepath.Join(os.Args[1], "*.yaml"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s has no CRD", os.Args[1])
	}
	for _, file := range files {
		if err == nil {
			err = rewrite(file)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func rewrite(file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var crd map[string]any
	if err := k8syaml.Unmarshal(content, &crd); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for _, replace := range []func([]any) ([]any, error){joinContinued, replaceBuilt} {
		if err := replaceRules(crd, replace); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	spec, _ := crd["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	for _, version := range versions {
		schema, _ := version.(map[string]any)["schema"].(map[string]any)
		root, ok := schema["openAPIV3Schema"].(map[string]any)
		if !ok {
			return fmt.Errorf("%s: a version has no schema", file)
		}
		if spec["names"].(map[string]any)["kind"] == "Activity" {
			if err := freezeNewFields(root["properties"].(map[string]any)["spec"].(map[string]any)); err != nil {
				return err
			}
		}
		bound(root, place{})
	}
	text, err := yaml.Marshal(crd)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, append([]byte("---\n"), text...), 0o644)
}

// place is where in an object a schema's values are.
type place struct {
	name    string // of the last field on the way there
	inList  bool   // of at most some elements
	inLists bool   // of any number of elements
}

// bound the quantities of a schema, wherever in it they are.
func bound(schema map[string]any, at place) {
	properties, _ := schema["properties"].(map[string]any)
	for name, property := range properties {
		bound(property.(map[string]any), place{name: name, inList: at.inList, inLists: at.inLists})
	}
	if items, ok := schema["items"].(map[string]any); ok {
		_, few := schema["maxItems"]
		bound(items, place{name: at.name, inList: at.inList || few, inLists: at.inLists || !few})
	}
	values, _ := schema["additionalProperties"].(map[string]any)
	switch {
	case isQuantity(values) && !at.inList && !at.inLists:
		schema["maxProperties"] = mostProperties
		add(schema, resources(at.name)...)
	case isQuantity(values):
		add(schema, claims(at.name)...)
	case values != nil:
		bound(values, at)
	case isQuantity(schema) && !callsQuantity(schema):
		add(schema, value(at)...)
	}
}

func isQuantity(schema map[string]any) bool {
	pattern, _ := schema["pattern"].(string)
	return schema["x-kubernetes-int-or-string"] == true && strings.Contains(pattern, "KMGTPE")
}

// callsQuantity reports whether a schema has a rule of its own about the value, which then bounds it, too.
func callsQuantity(schema map[string]any) bool {
	rules, _ := schema["x-kubernetes-validations"].([]any)
	return slices.ContainsFunc(rules, func(r any) bool {
		return strings.Contains(fmt.Sprint(r.(map[string]any)["rule"]), "quantity(")
	})
}

func add(schema map[string]any, rules ...any) {
	has, _ := schema["x-kubernetes-validations"].([]any)
	schema["x-kubernetes-validations"] = append(has, rules...)
}

func rule(text, message string) any {
	return map[string]any{"rule": text, "message": message}
}
