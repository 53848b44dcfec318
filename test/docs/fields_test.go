package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// fieldTypes has the template of a kind's types, too.
var fieldTypes = []string{"api/*/*/*.go", "hack/newkind/templates/types.go.tmpl"}

var templateAction = regexp.MustCompile(`\{\{[^}]*\}\}`)

// fieldTextsOf returns the fields of all types that are sent, with their texts, and the names of the types but kinds.
func fieldTextsOf(t *testing.T) ([]fieldText, map[string]bool) {
	t.Helper()
	var fields []fieldText
	types := map[string]bool{}
	for _, pattern := range fieldTypes {
		names, err := filepath.Glob(filepath.Join(root(t), pattern))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s matches no file: %v", pattern, err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(filepath.Base(name), "zz_generated") {
				continue
			}
			relative, err := filepath.Rel(root(t), name)
			if err != nil {
				t.Fatal(err)
			}
			source := templateAction.ReplaceAllString(readPage(t, relative), "Planned")
			file, err := parser.ParseFile(token.NewFileSet(), relative, source, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(node ast.Node) bool {
				if spec, ok := node.(*ast.TypeSpec); ok {
					types[spec.Name.Name] = true
					fields = append(fields, fieldsOfType(spec)...)
				}
				return true
			})
		}
	}
	for name := range types {
		if types[name+"List"] {
			delete(types, name) // a kind, which people know by this name
		}
	}
	return fields, types
}

// fieldsOfType returns the fields of a struct that has a form. Embedded ones have theirs, and a list of objects has none.
func fieldsOfType(spec *ast.TypeSpec) []fieldText {
	structure, ok := spec.Type.(*ast.StructType)
	if !ok || strings.HasSuffix(spec.Name.Name, "List") {
		return nil
	}
	var fields []fieldText
	for _, field := range structure.Fields.List {
		if field.Tag == nil || len(field.Names) != 1 {
			continue
		}
		name, _, _ := strings.Cut(reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		var lines []string
		for line := range strings.SplitSeq(field.Doc.Text(), "\n") {
			if !strings.HasPrefix(line, "+") {
				lines = append(lines, line)
			}
		}
		fields = append(fields, fieldText{spec.Name.Name, field.Names[0].Name, name, oneLine(strings.Join(lines, "\n"))})
	}
	return fields
}

// membersOf returns the JSON names of fields by their names in JSON and in Go. What also is a type is left out.
func membersOf(fields []fieldText, types map[string]bool) map[string]string {
	members := map[string]string{}
	for _, field := range fields {
		for _, name := range []string{field.goName, field.jsonName} {
			if !types[name] {
				members[name] = field.jsonName
			}
		}
	}
	return members
}

// fieldPathsOf returns the paths of all fields of all kinds, without the brackets of lists.
func fieldPathsOf(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root(t), "config/crd/bases/*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("found no CRD: %v", err)
	}
	paths := map[string]bool{}
	for _, file := range files {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal([]byte(readPage(t, "config/crd/bases/"+filepath.Base(file))), &crd); err != nil {
			t.Fatal(err)
		}
		for _, version := range crd.Spec.Versions {
			addFieldPaths(paths, "", *version.Schema.OpenAPIV3Schema)
		}
	}
	return paths
}

func addFieldPaths(paths map[string]bool, prefix string, schema apiextensionsv1.JSONSchemaProps) {
	for name, property := range schema.Properties {
		paths[prefix+name] = true
		addFieldPaths(paths, prefix+name+".", property)
	}
	if schema.Items != nil {
		addFieldPaths(paths, prefix, *schema.Items.Schema)
	}
	// What a user names, such as memory among limits, has the path of its map.
	if schema.AdditionalProperties != nil {
		for _, name := range []string{"cpu", "memory", "ephemeral-storage"} {
			paths[prefix+name] = true
		}
	}
}
