package console

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

type schema = apiextensionsv1.JSONSchemaProps

func object(fields map[string]schema) schema { return schema{Type: "object", Properties: fields} }

func listOf(items schema) schema {
	return schema{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &items}}
}

func text() schema { return schema{Type: "string"} }

func mapOfText() schema {
	values := text()
	return schema{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &values}}
}

func TestCheck(t *testing.T) {
	spec := object(map[string]schema{
		"size":   {Type: "integer"},
		"quota":  {XIntOrString: true},
		"labels": mapOfText(),
		"args":   listOf(text()),
		"ports":  listOf(object(map[string]schema{"name": text(), "hosts": listOf(text())})),
		"store":  object(map[string]schema{"s3": object(map[string]schema{"bucket": text()})}),
	})
	for _, c := range []struct {
		reason      string
		descriptors []Descriptor
		words       string // of the fault; empty for none
	}{
		{"a number needs no capability", []Descriptor{{Path: "size"}}, ""},
		{"a number is edited as the number of pods", []Descriptor{{"size", []string{prefix + "podCount"}}}, ""},
		{"a quantity is a text", []Descriptor{{"quota", []string{prefix + "text"}}}, ""},
		{"a descriptor of no field is found", []Descriptor{{Path: "sise"}}, "sise: the schema has no such field"},
		{"a descriptor below a text is found", []Descriptor{{Path: "size.more"}}, "size.more: the schema has no such field"},
		{"a list without a descriptor below it is found", []Descriptor{{Path: "args"}}, "args: the console has no component"},
		{"a list that is only advanced is found", []Descriptor{{"args", []string{prefix + "advanced"}}}, "args: the console has no component"},
		{"a list is shown by its elements", []Descriptor{{Path: "args"}, {Path: "args[0]"}}, ""},
		{"a list of objects is shown by their fields", []Descriptor{{Path: "ports"}, {Path: "ports[0].name"}}, ""},
		{"an element that is an object is found", []Descriptor{{Path: "ports"}, {Path: "ports[0]"}}, "ports[0]: the console has no component"},
		{"a list in a list is found", []Descriptor{{Path: "ports[0].hosts[0]"}}, "leaves out a list in a list"},
		{"a list with a name that is longer is found", []Descriptor{{Path: "store"}, {Path: "stores.s3"}}, "store: the console has no component"},
		{"an object is shown by what is deep in it", []Descriptor{{Path: "store"}, {Path: "store.s3.bucket"}}, ""},
		{"a map without a capability is found", []Descriptor{{Path: "labels"}}, "labels: the console has no component"},
		{"a map is shown by its entries", []Descriptor{{"labels", []string{Label}}}, ""},
		{"a map is not shown as a text", []Descriptor{{"labels", []string{prefix + "text"}}}, "text has no effect on this type"},
		{"what is hidden needs no component", []Descriptor{{"labels", []string{hidden}}}, ""},
	} {
		t.Run(c.reason, func(t *testing.T) {
			err := Check(&spec, c.descriptors)
			switch {
			case c.words == "" && err != nil:
				t.Error(err)
			case c.words != "" && (err == nil || !strings.Contains(err.Error(), c.words)):
				t.Errorf("not %q but %v", c.words, err)
			}
		})
	}
}

func TestSchema(t *testing.T) {
	root := object(map[string]schema{"spec": text()})
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1",
		Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &root}}}
	if found, err := Schema(crd, "v1", "spec"); err != nil || found.Type != "string" {
		t.Errorf("%v, %v", found, err)
	}
	for _, wrong := range [][2]string{{"v2", "spec"}, {"v1", "status"}} {
		if _, err := Schema(crd, wrong[0], wrong[1]); err == nil {
			t.Errorf("%v was found", wrong)
		}
	}
}
