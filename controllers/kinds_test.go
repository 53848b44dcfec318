package controllers

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"
)

// What generators do not write, developers forget: without the rights in user_roles.yaml no user may make an object.
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
			for _, page := range []string{"../README.md", "../SECURITY.md", "../docs/architecture.md", "../docs/conditions.md",
				"../docs/install-modes.md",
				"../config/manifests/bases/mainstay-operator.clusterserviceversion.yaml"} {
				if !strings.Contains(string(readFile(t, page)), gvk.Kind) {
					t.Errorf("%s does not mention %s", page, gvk.Kind)
				}
			}
			readFile(t, "../test/releases/objects/"+strings.ToLower(gvk.Kind)+"_full.yaml") // the next release is kept with it
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
