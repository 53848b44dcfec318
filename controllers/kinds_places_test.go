package controllers

import (
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/gitopstest"
)

// checkPages checks that the pages that list the kinds mention this one, and that it has a page.
func (k kind) checkPages(t *testing.T, name string) {
	if k.page == "" {
		t.Fatal("kinds.go names no page of docs that says what the kind promises")
	}
	pages := []string{"README.md", "SECURITY.md", "CHANGELOG.md", "docs/architecture.md", "docs/conditions.md",
		"docs/install-modes.md", "config/manifests/bases/mainstay-operator.clusterserviceversion.yaml", "docs/" + k.page}
	for _, page := range pages {
		if !strings.Contains(contentOf(t, page), name) {
			t.Errorf("%s does not mention %s", page, name)
		}
	}
}

// checkFolder checks the files of the kind's package, or of the packages below it that a large kind has. Nothing else notices a
// release_test.go that is missing: the next release would not keep the kind's objects, and no upgrade would be compared with them.
func (k kind) checkFolder(t *testing.T) {
	folder := k.folder()
	files := [][]string{{"controller.go"}, {"status.go", "internal/status/status.go"},
		{"status_test.go", "internal/status/status_test.go"}, {"release_test.go", "internal/children/release_test.go"}}
	if k.owned != nil {
		files = append(files, []string{"resources.go", "internal/children/children.go"},
			[]string{"resources_test.go", "internal/children/children_test.go"})
	}
	for _, places := range files {
		if !slices.ContainsFunc(places, func(file string) bool { return contentOf(t, folder+"/"+file) != "" }) {
			t.Errorf("%s has no %s", folder, strings.Join(places, " and no "))
		}
	}
	if !strings.Contains(contentOf(t, "docs/architecture.md"), "`"+folder+"`") {
		t.Errorf("docs/architecture.md does not say what %s does", folder)
	}
}

// checkTests checks that the suites know the kind.
func (k kind) checkTests(t *testing.T, name string) {
	if contentOf(t, "test/releases/objects/"+strings.ToLower(name)+"_full.yaml") == "" {
		t.Errorf("test/releases/objects has no %s_full.yaml: the next release keeps no object that sets all fields", strings.ToLower(name))
	}
	registers := regexp.MustCompile(`register\(kind\{\s+name:\s+"` + name + `"`)
	if k.owned != nil && !registers.MatchString(contentOf(t, "test/integration/*_test.go")) {
		t.Error("test/integration does not register it: crash, quiet, drift, strangers and install modes are not tested")
	}
	makes := regexp.MustCompile(`\.` + name + `[({]`)
	for _, suite := range []string{"test/integration", "test/e2e"} {
		if !makes.MatchString(contentOf(t, suite+"/*_test.go")) {
			t.Errorf("no spec of %s makes one", suite)
		}
	}
}

// checkSample checks that config has a sample of the kind with its status, that the demo proves it, and that hack/cluster has the
// images that it runs.
func (k kind) checkSample(t *testing.T, gvk schema.GroupVersionKind) {
	group, _, _ := strings.Cut(gvk.Group, ".")
	file := strings.Join([]string{group, gvk.Version, strings.ToLower(gvk.Kind) + ".yaml"}, "_")
	folder, proofs, proof := "config/samples", "hack/demo/check.go", `"`+gvk.Kind+`": p.`
	text := contentOf(t, folder+"/"+file)
	if text == "" {
		folder, proofs, proof = "config/samples/backups", "hack/demo/restore.go", gvk.Kind
		text = contentOf(t, folder+"/"+file)
	}
	if text == "" {
		t.Errorf("config/samples has no %s", file)
		return
	}
	status := "status/" + strings.ToLower(gvk.Kind) + ".yaml"
	for path, line := range map[string]string{
		folder + "/kustomization.yaml":        "- " + file,
		"config/manifests/kustomization.yaml": "- path: " + status,
	} {
		if !slices.Contains(linesOf(t, path), line) {
			t.Errorf("%s lacks the line %q", path, line)
		}
	}
	if contentOf(t, "config/manifests/"+status) == "" {
		t.Errorf("config/manifests has no %s", status)
	}
	if !strings.Contains(contentOf(t, proofs), proof) {
		t.Errorf("%s has no proof of %s by real traffic", proofs, gvk.Kind)
	}
	var sample unstructured.Unstructured
	unmarshal(t, []byte(text), &sample.Object)
	var images []string
	if image, ok, _ := unstructured.NestedString(sample.Object, "spec", "image"); ok {
		images = append(images, image)
	}
	if k.defaultImages != nil {
		images = append(images, k.defaultImages(ImagesFromEnv())...)
	}
	cluster := contentOf(t, "hack/cluster/*.go")
	for _, image := range images {
		if repository := image[:strings.LastIndex(image, ":")]; !strings.Contains(cluster, repository) {
			t.Errorf("hack/cluster does not make the image %s: the demo cannot pull it", image)
		}
	}
}

// checkNetworkPolicy checks that the manager may connect to the kind's servers where policies are enforced. The local cluster does
// not enforce them.
func (k kind) checkNetworkPolicy(t *testing.T) {
	if k.servers == "" {
		return
	}
	var policy networkingv1.NetworkPolicy
	unmarshal(t, []byte(contentOf(t, "config/network-policy/manager.yaml")), &policy)
	selects := func(r networkingv1.NetworkPolicyEgressRule) bool {
		return len(r.To) == 1 && r.To[0].PodSelector != nil && r.To[0].PodSelector.MatchLabels["app.kubernetes.io/name"] == k.servers
	}
	if !slices.ContainsFunc(policy.Spec.Egress, selects) {
		t.Errorf("config/network-policy/manager.yaml does not let the manager connect to the pods of %s", k.servers)
	}
	if !strings.Contains(contentOf(t, "config/namespaced/kustomization.yaml"), "app.kubernetes.io~1name, value: "+k.servers+"}") {
		t.Errorf("config/namespaced/kustomization.yaml does not confine the rule for %s to the namespace", k.servers)
	}
}

// checkGitOps checks that Argo CD has a health check of the kind, and that GitOps tools wait for an object that no operator has seen.
func (k kind) checkGitOps(t *testing.T, gvk schema.GroupVersionKind, crd *apiextensionsv1.CustomResourceDefinition) {
	key := fmt.Sprintf("\n  resource.customizations.health.%s_%s: ", gvk.Group, gvk.Kind)
	if !strings.Contains(contentOf(t, "config/gitops/argocd-cm.yaml"), key) {
		t.Fatalf("config/gitops/argocd-cm.yaml has no%s*health", key)
	}
	for _, version := range crd.Spec.Versions {
		status := version.Schema.OpenAPIV3Schema.Properties["status"]
		if status.Default == nil {
			t.Fatalf("%s: the status has no default: mark it with +kubebuilder:default={observedGeneration:-1}", version.Name)
		}
		gitopstest.CheckUnseen(t, k.object.DeepCopyObject().(converge.Object), status.Default.Raw)
	}
}

// folder returns the folder of the kind's package.
func (k kind) folder() string {
	r := k.newReconciler(shared{converger: func(string) converge.Converger { return converge.Converger{} }})
	path := reflect.TypeOf(r).Elem().PkgPath()
	return path[strings.Index(path, "controllers/"):]
}

// contentOf returns the content of the files of this repository that a pattern matches; empty if there is none.
func contentOf(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", pattern))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		all.Write(readFile(t, file))
	}
	return all.String()
}
