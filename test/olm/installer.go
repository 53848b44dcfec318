package olm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/manifests"
	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// Installer is the ServiceAccount by which OLM v1 installs the operator, and its roles. OLM v1 before 1.11 has no rights of its own.
const Installer = Package + "-installer"

// right to do one thing. Without a namespace it is a right in all of them, or to what is in none; without a name, to objects of any name.
type right struct{ namespace, group, resource, name, verb string }

func (r right) String() string {
	where := "cluster-wide"
	if r.namespace != "" {
		where = "in " + r.namespace
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s.%s %s", r.verb, r.resource, r.group, r.name)) + ", " + where
}

// covers reports whether it is the other right or includes it.
func (r right) covers(other right) bool {
	return r.verb == other.verb && r.group == other.group && r.resource == other.resource &&
		(r.namespace == "" || r.namespace == other.namespace) && (r.name == "" || r.name == other.name)
}

// rightSet has each right once.
type rightSet map[right]bool

// add the rights of a role's rules in a namespace, or in all of them.
func (r rightSet) add(namespace string, rules ...rbacv1.PolicyRule) {
	for _, rule := range rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, name := range names {
					for _, verb := range rule.Verbs {
						r[right{namespace, group, resource, name, verb}] = true
					}
				}
			}
		}
	}
}

// least are the rights without those that others include.
func (r rightSet) least() rightSet {
	least := maps.Clone(r)
	maps.DeleteFunc(least, func(granted right, _ bool) bool {
		for other := range r {
			if other != granted && other.covers(granted) {
				return true
			}
		}
		return false
	})
	return least
}

// manage adds what OLM v1 needs of an object that it installs: it applies and deletes it by its name, and watches all of its kind in all
// namespaces. These are the rights that OLM v1.10 itself checks: objectVerbs, namespacedCollectionVerbs and clusterCollectionVerbs in
// internal/operator-controller/authorization/rbac.go of operator-controller. A name that OLM v1 makes up is not known beforehand.
func (r rightSet) manage(kind schema.GroupVersionKind, namespace, name string) {
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	groups, resources := []string{plural.Group}, []string{plural.Resource}
	named := rbacv1.PolicyRule{APIGroups: groups, Resources: resources, Verbs: []string{"get", "patch", "update", "delete"}}
	if name != "" {
		named.ResourceNames = []string{name}
	}
	r.add(namespace, named, rbacv1.PolicyRule{APIGroups: groups, Resources: resources, Verbs: []string{"create"}})
	r.add("", rbacv1.PolicyRule{APIGroups: groups, Resources: resources, Verbs: []string{"list", "watch"}})
}

// neededRights are those that installing a bundle needs, upgrades and the end of it included. The operator manages the namespace watched,
// or all if that is empty. What OLM v1 makes of a bundle is in internal/operator-controller/rukpak/render/registryv1 of
// operator-controller.
func neededRights(bundle, watched string) (rightSet, error) {
	loaded, err := manifests.GetBundleFromDir(bundle)
	if err != nil {
		return nil, err
	}
	needed := rightSet{}
	// An owner that blocks its own deletion must be one whose finalizers may be changed.
	needed.add("", rbacv1.PolicyRule{APIGroups: []string{"olm.operatorframework.io"}, Resources: []string{"clusterextensions/finalizers"},
		ResourceNames: []string{Package}, Verbs: []string{"update"}})
	for _, obj := range loaded.Objects {
		switch kind := obj.GroupVersionKind(); kind.Kind {
		case operators.ClusterServiceVersionKind:
		case "CustomResourceDefinition":
			needed.manage(kind, "", obj.GetName())
		case "Service", "PodDisruptionBudget":
			needed.manage(kind, Namespace, obj.GetName())
		default:
			return nil, fmt.Errorf("%s %s of the bundle: it is not known here whether it has a namespace", kind.Kind, obj.GetName())
		}
	}
	install := loaded.CSV.Spec.InstallStrategy.StrategySpec
	for _, deployment := range install.DeploymentSpecs {
		needed.manage(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Namespace, deployment.Name)
	}
	role := func(kind string) schema.GroupVersionKind { return rbacv1.SchemeGroupVersion.WithKind(kind) }
	for _, granted := range append(slices.Clone(install.ClusterPermissions), install.Permissions...) {
		for _, rule := range granted.Rules {
			if len(rule.NonResourceURLs) > 0 {
				return nil, fmt.Errorf("%s may read %v: the installer's rights to URLs are not derived", granted.ServiceAccountName,
					rule.NonResourceURLs)
			}
		}
		needed.manage(schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}, Namespace, granted.ServiceAccountName)
	}
	// A user cannot grant rights that it does not have.
	clusterWide := slices.Clone(install.ClusterPermissions)
	for _, granted := range install.Permissions {
		if watched != "" {
			needed.manage(role("Role"), watched, "")
			needed.manage(role("RoleBinding"), watched, "")
			needed.add(watched, granted.Rules...)
			continue
		}
		namespaces := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "list", "watch"}}
		clusterWide = append(clusterWide, operators.StrategyDeploymentPermissions{Rules: append(slices.Clone(granted.Rules), namespaces)})
	}
	for _, granted := range clusterWide {
		needed.manage(role("ClusterRole"), "", "")
		needed.manage(role("ClusterRoleBinding"), "", "")
		needed.add("", granted.Rules...)
	}
	return needed.least(), nil
}

// InstallerRoles are the roles of the installer for a bundle whose operator manages all namespaces, as a stream of YAML.
func InstallerRoles(bundle string) (string, error) {
	needed, err := neededRights(bundle, "")
	if err != nil {
		return "", err
	}
	var text strings.Builder
	text.WriteString("# Written by `make bundle`: what OLM v1 before 1.11 needs to install, upgrade and remove the operator, and to grant\n" +
		"# the operator its own rights.\n")
	byNamespace := map[string][]right{}
	for need := range needed {
		byNamespace[need.namespace] = append(byNamespace[need.namespace], need)
	}
	for _, namespace := range slices.Sorted(maps.Keys(byNamespace)) {
		kind := "ClusterRole"
		if namespace != "" {
			kind = "Role"
		}
		role := rbacv1.Role{TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind},
			ObjectMeta: metav1.ObjectMeta{Name: Installer, Namespace: namespace}, Rules: rules(byNamespace[namespace])}
		written, err := yaml.Marshal(role)
		if err != nil {
			return "", err
		}
		text.WriteString("---\n" + string(written))
	}
	return text.String(), nil
}

// rules are as few as have these rights, in a fixed order: first the verbs of an object are joined, then the objects of a resource, then
// the resources of a group.
func rules(rights []right) []rbacv1.PolicyRule {
	var all []rbacv1.PolicyRule
	for _, granted := range rights {
		rule := rbacv1.PolicyRule{APIGroups: []string{granted.group}, Resources: []string{granted.resource}, Verbs: []string{granted.verb}}
		if granted.name != "" {
			rule.ResourceNames = []string{granted.name}
		}
		all = append(all, rule)
	}
	for _, list := range []func(*rbacv1.PolicyRule) *[]string{
		func(r *rbacv1.PolicyRule) *[]string { return &r.Verbs },
		func(r *rbacv1.PolicyRule) *[]string { return &r.ResourceNames },
		func(r *rbacv1.PolicyRule) *[]string { return &r.Resources },
	} {
		all = join(all, list)
	}
	return all
}

// join rules that differ in one list alone, and sort them. A rule for all names is not joined with one for some.
func join(all []rbacv1.PolicyRule, list func(*rbacv1.PolicyRule) *[]string) []rbacv1.PolicyRule {
	joined := map[string]*rbacv1.PolicyRule{}
	for _, rule := range all {
		rest := rule
		*list(&rest) = nil
		key := fmt.Sprint(rest.APIGroups, rest.Resources, rest.ResourceNames, rest.Verbs, len(rule.ResourceNames) > 0)
		if joined[key] == nil {
			joined[key] = &rest
		}
		values := list(joined[key])
		*values = append(*values, *list(&rule)...)
		slices.Sort(*values)
	}
	var sorted []rbacv1.PolicyRule
	for _, rule := range joined {
		sorted = append(sorted, *rule)
	}
	slices.SortFunc(sorted, func(a, b rbacv1.PolicyRule) int {
		return cmp.Or(slices.Compare(a.APIGroups, b.APIGroups), slices.Compare(a.Resources, b.Resources),
			slices.Compare(a.ResourceNames, b.ResourceNames), slices.Compare(a.Verbs, b.Verbs))
	})
	return sorted
}
