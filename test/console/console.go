// Package console knows what the console of OpenShift does with the descriptors of a ClusterServiceVersion: on the page of an object
// it shows the fields that a descriptor names, and leaves out a list or a map that it has no component for. Older ones print its JSON.
package console

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Capabilities, the x-descriptors of a descriptor, each of which has a component in the console. One that ends with a colon is a prefix.
const (
	Label                = "urn:alm:descriptor:com.tectonic.ui:label" // shows the entries of a map
	ResourceRequirements = "urn:alm:descriptor:com.tectonic.ui:resourceRequirements"
	Selector             = "urn:alm:descriptor:com.tectonic.ui:selector:" // with what it selects
	Kubernetes           = "urn:alm:descriptor:io.kubernetes:"            // with the kind of the object that the field names

	prefix = "urn:alm:descriptor:com.tectonic.ui:"
)

var (
	// anyCapabilities say where a field is shown, and go with each type. They have no component.
	anyCapabilities = []string{prefix + "advanced", prefix + "fieldDependency:", hidden, prefix + "arrayFieldGroup:", prefix + "fieldGroup:"}
	// objectCapabilities show a map or an object.
	objectCapabilities = []string{prefix + "podStatuses", prefix + "updateStrategy", ResourceRequirements, Selector, Label,
		prefix + "namespaceSelector"}
	// listCapabilities show a list.
	listCapabilities = []string{prefix + "endpointList", "urn:alm:descriptor:io.kubernetes.conditions"}
	// valueCapabilities show what is neither.
	valueCapabilities = []string{Kubernetes, "urn:alm:descriptor:io.kubernetes.phase", prefix + "imagePullPolicy", prefix + "podCount",
		prefix + "select:", "urn:alm:descriptor:org.w3:link", prefix + "booleanSwitch", prefix + "checkbox", prefix + "password",
		prefix + "text", "urn:alm:descriptor:text", prefix + "number", Label}
)

const hidden = prefix + "hidden"

// A Descriptor is one of the spec or of the status.
type Descriptor struct {
	Path         string
	Capabilities []string
}

// Spec are the descriptors of the spec of a kind.
func Spec(owned operators.CRDDescription) []Descriptor {
	list := make([]Descriptor, 0, len(owned.SpecDescriptors))
	for _, d := range owned.SpecDescriptors {
		list = append(list, Descriptor{d.Path, d.XDescriptors})
	}
	return list
}

// Status are the descriptors of the status of a kind.
func Status(owned operators.CRDDescription) []Descriptor {
	list := make([]Descriptor, 0, len(owned.StatusDescriptors))
	for _, d := range owned.StatusDescriptors {
		list = append(list, Descriptor{d.Path, d.XDescriptors})
	}
	return list
}

// Schema is the one of a kind's spec or status, as section says, in the version that the ClusterServiceVersion describes.
// It returns an error if the CRD does not have it.
func Schema(crd *apiextensionsv1.CustomResourceDefinition, version, section string) (*apiextensionsv1.JSONSchemaProps, error) {
	for _, v := range crd.Spec.Versions {
		if v.Name != version || v.Schema == nil {
			continue
		}
		if found, ok := v.Schema.OpenAPIV3Schema.Properties[section]; ok {
			return &found, nil
		}
	}
	return nil, fmt.Errorf("%s has no %s in version %s", crd.Name, section, version)
}

// Check returns what the console would leave out, or print as JSON, of an object whose spec or status has this schema and these
// descriptors.
func Check(schema *apiextensionsv1.JSONSchemaProps, descriptors []Descriptor) error {
	var faults []error
	for _, d := range descriptors {
		if err := check(schema, d, descriptors); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", d.Path, err))
		}
	}
	return errors.Join(faults...)
}

// nested matches a path with two lists, which the console leaves out.
var nested = regexp.MustCompile(`\[\d+\].*\[\d+\]`)

func check(schema *apiextensionsv1.JSONSchemaProps, d Descriptor, all []Descriptor) error {
	field := At(schema, d.Path)
	if field == nil {
		return errors.New("the schema has no such field")
	}
	if nested.MatchString(d.Path) {
		return errors.New("the console leaves out a list in a list")
	}
	known := valueCapabilities
	switch {
	case field.Type == "array":
		known = listCapabilities
	case IsObject(field):
		known = objectCapabilities
	}
	for _, capability := range d.Capabilities {
		if !matches(capability, known) && !matches(capability, anyCapabilities) {
			return fmt.Errorf("%s has no effect on this type", capability)
		}
	}
	if slices.Contains(d.Capabilities, hidden) || Shows(field, d.Capabilities) {
		return nil
	}
	if slices.ContainsFunc(all, func(other Descriptor) bool { return IsBelow(other.Path, d.Path) }) {
		return nil
	}
	return errors.New("the console has no component for this list or map, and no descriptor is below it: it would show no value, or JSON")
}

// Shows reports whether the console has a component that shows the field as a whole.
func Shows(field *apiextensionsv1.JSONSchemaProps, capabilities []string) bool {
	known := listCapabilities
	if field.Type != "array" {
		known = objectCapabilities
		if !IsObject(field) {
			return true
		}
	}
	return slices.ContainsFunc(capabilities, func(c string) bool { return matches(c, known) })
}

// IsObject reports whether the values of a schema are maps, with fields that it names or any others.
func IsObject(schema *apiextensionsv1.JSONSchemaProps) bool {
	return schema.Type == "object" || schema.Type == "" && len(schema.Properties) > 0
}

// IsBelow reports whether a path leads to a part of the field at another.
func IsBelow(path, field string) bool {
	rest, ok := strings.CutPrefix(path, field)
	return ok && (strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "["))
}

// step of a path: the name of a field, or the index of a list.
var step = regexp.MustCompile(`[^.\[\]]+`)

// At is the schema of the field at a path, such as storage.size or ports[0].name; nil if there is none.
func At(schema *apiextensionsv1.JSONSchemaProps, path string) *apiextensionsv1.JSONSchemaProps {
	for _, name := range step.FindAllString(path, -1) {
		if schema.Type == "array" {
			if schema.Items == nil || schema.Items.Schema == nil {
				return nil
			}
			schema = schema.Items.Schema
			continue
		}
		field, ok := schema.Properties[name]
		if !ok {
			return nil
		}
		schema = &field
	}
	return schema
}

func matches(capability string, known []string) bool {
	return slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(capability, k) })
}
