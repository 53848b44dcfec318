package controllers

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"
)

// TestEachKindIsInEveryList checks what no generator writes: without the rights in user_roles.yaml, for example, no user may make
// an object of the kind. CONTRIBUTING.md, "Add a kind", says what belongs into each place.
func TestEachKindIsInEveryList(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	crds, roles := readCRDs(t), readRoles(t)
	for _, k := range kinds {
		gvk, err := apiutil.GVKForObject(k.object, scheme)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(gvk.Kind, func(t *testing.T) {
			file, crd := crds[gvk.Kind].file, crds[gvk.Kind].crd
			if crd == nil {
				t.Fatal("it has no CustomResourceDefinition: make manifests")
			}
			for path, line := range map[string]string{
				"PROJECT":                       "kind: " + gvk.Kind,
				"config/crd/kustomization.yaml": "- bases/" + file,
			} {
				if !slices.Contains(linesOf(t, path), line) {
					t.Errorf("%s lacks the line %q", path, line)
				}
			}
			k.checkPages(t, gvk.Kind)
			k.checkFolder(t)
			k.checkTests(t, gvk.Kind)
			k.checkSample(t, gvk)
			k.checkNetworkPolicy(t)
			k.checkGitOps(t, gvk, crd)
			if !slices.Contains(crd.Spec.Names.Categories, "mainstay") {
				t.Error("kubectl get mainstay does not show it: add categories=mainstay to +kubebuilder:resource")
			}
			resources := []string{crd.Spec.Names.Plural}
			if sub := crd.Spec.Versions[0].Subresources; sub != nil && sub.Scale != nil {
				resources = append(resources, crd.Spec.Names.Plural+"/scale")
			}
			for _, resource := range resources {
				if !allows(roles["editor-role"], gvk.Group, resource, "create") {
					t.Errorf("config/rbac/user_roles.yaml does not let editors write %s", resource)
				}
			}
			if !allows(roles["viewer-role"], gvk.Group, crd.Spec.Names.Plural, "get") {
				t.Errorf("config/rbac/user_roles.yaml does not let viewers read %s", crd.Spec.Names.Plural)
			}
		})
	}
	if len(kinds) != len(crds) {
		t.Errorf("%d kinds are reconciled, of %d CustomResourceDefinitions", len(kinds), len(crds))
	}
}

// TestEachDefaultImageIsOfAKind checks that kinds.go names each image of Images, so that the check of hack/cluster asks for it.
func TestEachDefaultImageIsOfAKind(t *testing.T) {
	all := Images{Operator: "operator"}
	value := reflect.ValueOf(&all).Elem()
	var want []string
	for i := range value.NumField() {
		switch name, field := value.Type().Field(i).Name, value.Field(i); {
		case field.Kind() == reflect.Array:
			for j := range field.Len() {
				field.Index(j).SetString(fmt.Sprint(name, j))
				want = append(want, fmt.Sprint(name, j))
			}
		case name != "Operator":
			field.SetString(name)
			want = append(want, name)
		}
	}
	var got []string
	for _, k := range kinds {
		if k.defaultImages != nil {
			got = append(got, k.defaultImages(all)...)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the kinds have the images %v, and Images has %v", got, want)
	}
}

func allows(role rbacv1.ClusterRole, group, resource, verb string) bool {
	return slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.APIGroups, group) && slices.Contains(r.Verbs, verb) &&
			(slices.Contains(r.Resources, resource) || slices.Contains(r.Resources, "*"))
	})
}

// definition is a generated CRD, and its file.
type definition struct {
	file string
	crd  *apiextensionsv1.CustomResourceDefinition
}

func readCRDs(t *testing.T) map[string]definition {
	t.Helper()
	files, err := filepath.Glob("../config/crd/bases/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]definition{}
	for _, path := range files {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		unmarshal(t, readFile(t, path), crd)
		all[crd.Spec.Names.Kind] = definition{filepath.Base(path), crd}
	}
	return all
}

func readRoles(t *testing.T) map[string]rbacv1.ClusterRole {
	t.Helper()
	all := map[string]rbacv1.ClusterRole{}
	for document := range strings.SplitSeq(string(readFile(t, "../config/rbac/user_roles.yaml")), "\n---\n") {
		var role rbacv1.ClusterRole
		unmarshal(t, []byte(document), &role)
		all[role.Name] = role
	}
	return all
}

// linesOf returns the lines of a file of this repository, without their indentation.
func linesOf(t *testing.T, path string) []string {
	t.Helper()
	var lines []string
	for line := range strings.Lines(string(readFile(t, filepath.Join("..", path)))) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func unmarshal(t *testing.T, content []byte, into any) {
	t.Helper()
	if err := yaml.Unmarshal(content, into); err != nil {
		t.Fatal(err)
	}
}
