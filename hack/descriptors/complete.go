package main

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/mainstay-operator/mainstay-operator/test/console"
)

// most is how many descriptors are added below one. A page shows all of them for each element of a list: those of a volume are 134,
// of which a user sets two. Where there are more, those of the deepest fields are left out.
const most = 20

// complete returns the descriptors of a section, as they are in the manifest and as the console reads them, with those that are
// missing after the one that they are below.
func complete(schema *apiextensionsv1.JSONSchemaProps, present []any, descriptors []console.Descriptor) []any {
	described := map[string]bool{}
	for _, d := range descriptors {
		described[d.Path] = true
	}
	var completed []any
	for i, d := range descriptors {
		completed = append(completed, present[i])
		field := console.At(schema, d.Path)
		if field == nil || console.Shows(field, d.Capabilities) {
			continue
		}
		if capability := capabilityOf(d.Path, field); capability != "" {
			entry := present[i].(map[string]any)
			has, _ := entry["x-descriptors"].([]any)
			entry["x-descriptors"] = append(has, capability)
			continue
		}
		for _, part := range parts(field, d.Path) {
			if described[part.path] {
				continue
			}
			described[part.path] = true
			completed = append(completed, part.descriptor())
		}
	}
	return completed
}

// part of a field, which the console can show.
type part struct {
	path   string
	names  []string // of the fields on the way to it, from the descriptor's own on
	schema *apiextensionsv1.JSONSchemaProps
}

// descriptor leaves the description to the CRD: the console shows that one.
func (p part) descriptor() map[string]any {
	entry := map[string]any{"displayName": title(p.names), "path": p.path}
	if capability := capabilityOf(p.path, p.schema); capability != "" {
		entry["x-descriptors"] = []any{capability}
	}
	return entry
}

// parts of a field that the console can show, by their path, at most as many as most says. A part of a list in a list is none.
func parts(field *apiextensionsv1.JSONSchemaProps, path string) []part {
	level := []part{{path, []string{nameOf(path)}, field}}
	var found []part
	for len(level) > 0 {
		var shown, deeper []part
		for _, p := range level {
			for _, next := range below(p) {
				if _, isList := items(next.schema); console.IsObject(next.schema) && capabilityOf(next.path, next.schema) == "" || isList {
					deeper = append(deeper, next)
				} else {
					shown = append(shown, next)
				}
			}
		}
		if len(found) > 0 && len(found)+len(shown) > most {
			break
		}
		found, level = append(found, shown...), deeper
	}
	slices.SortFunc(found, func(a, b part) int { return strings.Compare(a.path, b.path) })
	return found
}

// below are the fields of an object, or what the elements of a list are or have.
func below(p part) []part {
	if element, ok := items(p.schema); ok {
		if strings.Contains(p.path, "[") {
			return nil
		}
		first := part{p.path + "[0]", p.names, element}
		if console.IsObject(element) && capabilityOf(first.path, element) == "" {
			return below(first)
		}
		return []part{first}
	}
	var fields []part
	for _, name := range slices.Sorted(maps.Keys(p.schema.Properties)) {
		schema := p.schema.Properties[name]
		fields = append(fields, part{p.path + "." + name, append(slices.Clone(p.names), name), &schema})
	}
	return fields
}

func items(schema *apiextensionsv1.JSONSchemaProps) (*apiextensionsv1.JSONSchemaProps, bool) {
	if schema.Type != "array" || schema.Items == nil || schema.Items.Schema == nil {
		return nil, false
	}
	return schema.Items.Schema, true
}

// capabilityOf the component that shows a field of this name and schema; empty if it needs none, or if there is none.
func capabilityOf(path string, field *apiextensionsv1.JSONSchemaProps) string {
	has := func(names ...string) bool {
		return len(field.Properties) == len(names) && !slices.ContainsFunc(names, func(name string) bool {
			_, ok := field.Properties[name]
			return !ok
		})
	}
	name := strings.ToLower(nameOf(path))
	switch {
	case field.AdditionalProperties != nil:
		return console.Label
	case has("claims", "limits", "requests"):
		return console.ResourceRequirements
	case has("matchExpressions", "matchLabels") && strings.HasPrefix(name, "namespace"):
		return console.Selector + "core:v1:Namespace"
	case has("matchExpressions", "matchLabels"):
		return console.Selector + "core:v1:Pod"
	case field.Type == "string" && strings.HasSuffix(name, "secretname"):
		return console.Kubernetes + "Secret"
	case field.Type == "string" && name == "claimname":
		return console.Kubernetes + "PersistentVolumeClaim"
	}
	return ""
}

// nameOf the field at the end of a path.
func nameOf(path string) string {
	name, _, _ := strings.Cut(path[strings.LastIndexByte(path, '.')+1:], "[")
	return name
}

// title of a field for people, from its own name and the one above it, which is left out if it is the one that the descriptor has.
func title(names []string) string {
	if len(names) > 1 {
		names = names[max(1, len(names)-2):]
	}
	var words []rune
	for _, name := range names {
		before := ' '
		for i, r := range name {
			if i == 0 || unicode.IsUpper(r) && unicode.IsLower(before) {
				if len(words) > 0 {
					words = append(words, ' ')
				}
				r = unicode.ToUpper(r)
			}
			words, before = append(words, r), rune(name[i])
		}
	}
	return string(words)
}
