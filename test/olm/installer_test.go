package olm

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	k8syaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/mainstay-operator/mainstay-operator/test/releases"
)

// applied are the objects of a folder that users of OLM v1 apply, by their kinds.
func applied(t *testing.T, folder string) map[string][]*unstructured.Unstructured {
	t.Helper()
	text, err := exec.CommandContext(t.Context(), within(t, ".bin/kustomize"), "build", within(t, folder)).Output()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]*unstructured.Unstructured{}
	for decoder := k8syaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		obj := &unstructured.Unstructured{}
		if err := decoder.Decode(obj); errors.Is(err, io.EOF) {
			return found
		} else if err != nil {
			t.Fatalf("%s: %v", folder, err)
		}
		found[obj.GetKind()] = append(found[obj.GetKind()], obj)
	}
}

// only gives the object of a kind of which there is one.
func only[T any](t *testing.T, all map[string][]*unstructured.Unstructured, kind string) *T {
	t.Helper()
	if len(all[kind]) != 1 {
		t.Fatalf("there are %d of kind %s", len(all[kind]), kind)
	}
	var obj T
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(all[kind][0].Object, &obj, true); err != nil {
		t.Fatal(err)
	}
	return &obj
}

// granted are the rights that the two bindings of config/olmv1 give to the installer.
func granted(t *testing.T) rightSet {
	t.Helper()
	all := applied(t, "config/olmv1")
	everywhere, here := only[rbacv1.ClusterRoleBinding](t, all, "ClusterRoleBinding"), only[rbacv1.RoleBinding](t, all, "RoleBinding")
	installer := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: Namespace, Name: Installer}
	for _, subjects := range [][]rbacv1.Subject{everywhere.Subjects, here.Subjects} {
		if len(subjects) != 1 || subjects[0] != installer {
			t.Errorf("%v is bound, not %v", subjects, installer)
		}
	}
	clusterRole, role := only[rbacv1.ClusterRole](t, all, "ClusterRole"), only[rbacv1.Role](t, all, "Role")
	if everywhere.RoleRef.Name != clusterRole.Name || here.RoleRef.Name != role.Name || here.Namespace != role.Namespace {
		t.Errorf("the bindings lead to %v and %v", everywhere.RoleRef, here.RoleRef)
	}
	rights := rightSet{}
	rights.add("", clusterRole.Rules...)
	rights.add(role.Namespace, role.Rules...)
	return rights
}

// compare rights that are needed with those that are granted.
func compare(needed, granted rightSet) (missing, excess []string) {
	for need := range needed {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(granted)), func(grant right) bool { return grant.covers(need) }) {
			missing = append(missing, need.String())
		}
	}
	for grant := range granted {
		if !needed[grant] {
			excess = append(excess, grant.String())
		}
	}
	slices.Sort(missing)
	slices.Sort(excess)
	return missing, excess
}

func needed(t *testing.T, bundle, watched string) rightSet {
	t.Helper()
	rights, err := neededRights(bundle, watched)
	if err != nil {
		t.Fatal(err)
	}
	return rights
}

func TestTheInstallerHasTheRightsThatItNeedsAndNoOthers(t *testing.T) {
	missing, excess := compare(needed(t, within(t, "bundle"), ""), granted(t))
	if len(missing)+len(excess) > 0 {
		t.Errorf("config/olmv1/roles.yaml lacks\n%s\nand has too many\n%s\nmake bundle writes it", strings.Join(missing, "\n"),
			strings.Join(excess, "\n"))
	}
}

// The check above finds what a bundle needs and the roles do not have, and the reverse.
func TestAWrongRightOfTheInstallerIsFound(t *testing.T) {
	const permissions = "spec.install.spec.clusterPermissions.0"
	for name, c := range map[string]struct {
		fault           func(csv map[string]any)
		missing, excess string
	}{
		"the manager may do more": {func(csv map[string]any) {
			account := at(t, csv, permissions)
			rules, _ := account["rules"].([]any)
			account["rules"] = append(rules, map[string]any{"apiGroups": []any{"batch"}, "resources": []any{"jobs"}, "verbs": []any{"create"}})
		}, "create jobs.batch, cluster-wide", ""},
		"the manager may do less": {func(csv map[string]any) {
			account := at(t, csv, permissions)
			rules, _ := account["rules"].([]any)
			account["rules"] = slices.DeleteFunc(rules, func(rule any) bool {
				fields, _ := rule.(map[string]any)
				return slices.Contains(fields["resources"].([]any), any("tokenreviews"))
			})
		}, "", "create tokenreviews.authentication.k8s.io, cluster-wide"},
		"the Deployment has another name": {func(csv map[string]any) {
			at(t, csv, "spec.install.spec.deployments.0")["name"] = "another"
		}, "update deployments.apps another, in " + Namespace, "update deployments.apps mainstay-operator-controller-manager, in " + Namespace},
		"it has another ServiceAccount": {func(csv map[string]any) {
			at(t, csv, permissions)["serviceAccountName"] = "another"
		}, "delete serviceaccounts. another, in " + Namespace, ""},
	} {
		t.Run(name, func(t *testing.T) {
			missing, excess := compare(needed(t, planted(t, csvFile, c.fault), ""), granted(t))
			for _, side := range []struct {
				found []string
				want  string
			}{{missing, c.missing}, {excess, c.excess}} {
				if side.want == "" && len(side.found) > 0 || side.want != "" && !slices.Contains(side.found, side.want) {
					t.Errorf("%q is not in %q", side.want, side.found)
				}
			}
		})
	}
}

// Rights to what nothing says about are not guessed.
func TestRightsThatCannotBeDerivedAreRefused(t *testing.T) {
	const service = "manifests/mainstay-operator-controller-manager-metrics-service_v1_service.yaml"
	for words, bundle := range map[string]string{
		"whether it has a namespace": planted(t, service, func(obj map[string]any) { obj["kind"] = "Widget" }),
		"rights to URLs": planted(t, csvFile, func(csv map[string]any) {
			at(t, csv, "spec.install.spec.clusterPermissions.0.rules.0")["nonResourceURLs"] = []any{"/metrics"}
		}),
	} {
		_, err := neededRights(bundle, "")
		finds(t, "neededRights", err, words)
	}
}

// docs/install.md says so: to manage one namespace, OLM v1 grants there what the manager may otherwise do in all of them.
func TestAWatchedNamespaceNeedsARoleThere(t *testing.T) {
	const watched = "shop"
	additional, _ := compare(needed(t, within(t, "bundle"), watched), granted(t))
	want := []string{}
	for _, resource := range []string{"rolebindings", "roles"} {
		for _, verb := range []string{"create", "delete", "get", "patch", "update"} {
			want = append(want, right{watched, rbacv1.GroupName, resource, "", verb}.String())
		}
		for _, verb := range []string{"list", "watch"} {
			want = append(want, right{"", rbacv1.GroupName, resource, "", verb}.String())
		}
	}
	slices.Sort(want)
	if !slices.Equal(additional, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(additional, "\n"), strings.Join(want, "\n"))
	}
}

// OLM v1 grants the manager no right in its own namespace if it manages another one: config/olmv1/watch-namespace does.
func TestTheManagerOfAWatchedNamespaceHasItsLease(t *testing.T) {
	all := applied(t, "config/olmv1/watch-namespace")
	role, binding := only[rbacv1.Role](t, all, "Role"), only[rbacv1.RoleBinding](t, all, "RoleBinding")
	want, got := rightSet{}, rightSet{}
	for _, permission := range csvOf(t, within(t, "bundle")).Spec.InstallStrategy.StrategySpec.Permissions {
		want.add(Namespace, permission.Rules...)
		account := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: Namespace, Name: permission.ServiceAccountName}
		if len(binding.Subjects) != 1 || binding.Subjects[0] != account || binding.RoleRef.Name != role.Name || len(all) != 2 {
			t.Errorf("the binding leads from %v to %v", binding.Subjects, binding.RoleRef)
		}
	}
	got.add(role.Namespace, role.Rules...)
	if missing, excess := compare(want, got); len(missing)+len(excess) > 0 {
		t.Errorf("it lacks %q and has too many: %q", missing, excess)
	}
}

// The newest release of OLM v1 that requires a ServiceAccount accepts the example, and so does the one that ignores it.
func TestOLMv1AcceptsTheClusterExtension(t *testing.T) {
	extension := applied(t, "config/olmv1")["ClusterExtension"][0]
	if extension.GetName() != Package { // the installer's right to its finalizers has this name
		t.Errorf("its name is %s", extension.GetName())
	}
	if channels, _, err := unstructured.NestedStringSlice(extension.Object, "spec", "source", "catalog", "channels"); err != nil ||
		!slices.Equal(channels, []string{Channel}) {
		t.Errorf("it follows %v (%v), and releases are in %s", channels, err, Channel)
	}
	watching := extension.DeepCopy()
	if err := unstructured.SetNestedMap(watching.Object, map[string]any{"configType": "Inline",
		"inline": map[string]any{"watchNamespace": "shop"}}, "spec", "config"); err != nil {
		t.Fatal(err)
	}
	withoutAccount := extension.DeepCopy()
	unstructured.RemoveNestedField(withoutAccount.Object, "spec", "serviceAccount")
	for name, c := range map[string]struct {
		version   string
		extension *unstructured.Unstructured
		refusal   string
	}{
		"1.10":                           {"v1.10", extension, ""},
		"1.10, without an account":       {"v1.10", withoutAccount, "serviceAccount"},
		"1.10, for one namespace":        {"v1.10", watching, "config"},
		"1.11":                           {"v1.11", extension, ""},
		"1.11, without an account":       {"v1.11", withoutAccount, ""},
		"1.11 experimental, a namespace": {"v1.11", watching, ""},
	} {
		t.Run(name, func(t *testing.T) {
			schema, err := releases.SchemaFor(filepath.Join("testdata", "operator-controller-"+c.version), c.extension)
			if err != nil {
				t.Fatal(err)
			}
			obj := c.extension.DeepCopy()
			switch err := errors.Join(schema.Read(obj), schema.Validate(obj)); {
			case c.refusal != "":
				finds(t, "the schema", err, c.refusal)
			case err != nil:
				t.Error(err)
			}
		})
	}
}
