package redis

import (
	"context"
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/test/cluster"
)

// rights to do something with a resource.
type rights struct {
	group, resource string
	verbs           []string
}

// endpointWrites are the rights to write EndpointSlices. Without them, clients wait for kube-controller-manager after a failover.
var endpointWrites = &rights{"discovery.k8s.io", "endpointslices", []string{"create", "update", "patch"}}

// withdraw rights from the operator's ClusterRoles until restore is called, at the latest by the end of the spec. If this process is
// killed before that, make deploy restores them.
func withdraw(ctx context.Context, r *rights) (restore func(context.Context)) {
	GinkgoHelper()
	if r == nil {
		return func(context.Context) {}
	}
	before, err := r.held(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(before).NotTo(BeEmpty(), "the operator has no right to write %s that could be withdrawn", r.resource)
	roles := operatorRoles(ctx)
	restore = func(ctx context.Context) {
		GinkgoHelper()
		for _, role := range roles {
			Eventually(setRules).WithContext(ctx).WithArguments(role.Name, role.Rules).Should(Succeed())
		}
		Eventually(r.held).WithContext(ctx).Should(Equal(before), "the operator's rights are not restored")
	}
	DeferCleanup(restore)
	for _, role := range roles {
		Expect(setRules(ctx, role.Name, r.removedFrom(role.Rules))).To(Succeed())
	}
	Eventually(r.held).WithContext(ctx).Should(BeEmpty(), "the operator still has rights that were withdrawn")
	return restore
}

// removedFrom returns the rules without these rights. Others that share a rule with them stay.
func (r *rights) removedFrom(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	var left []rbacv1.PolicyRule
	for _, rule := range rules {
		if !slices.Contains(rule.APIGroups, r.group) || !slices.Contains(rule.Resources, r.resource) {
			left = append(left, rule)
			continue
		}
		other, same := rule.DeepCopy(), rule.DeepCopy()
		other.Resources = slices.DeleteFunc(other.Resources, func(resource string) bool { return resource == r.resource })
		same.Resources = []string{r.resource}
		same.Verbs = slices.DeleteFunc(same.Verbs, func(verb string) bool { return slices.Contains(r.verbs, verb) })
		for _, part := range []*rbacv1.PolicyRule{other, same} {
			if len(part.Resources) > 0 && len(part.Verbs) > 0 {
				left = append(left, *part)
			}
		}
	}
	return left
}

// held are those of the verbs that the operator may use in all namespaces, as the API server judges.
func (r *rights) held(ctx context.Context) (held []string, err error) {
	for _, verb := range r.verbs {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: cluster.OperatorUser,
			Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + cluster.OperatorNamespace,
				"system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: r.group, Resource: r.resource},
		}}
		if err := k8s.Create(ctx, review); err != nil {
			return nil, err
		}
		if review.Status.Allowed {
			held = append(held, verb)
		}
	}
	return held, nil
}

// operatorRoles are the ClusterRoles that are bound to the operator.
func operatorRoles(ctx context.Context) (roles []rbacv1.ClusterRole) {
	GinkgoHelper()
	var bindings rbacv1.ClusterRoleBindingList
	Expect(k8s.List(ctx, &bindings)).To(Succeed())
	for _, binding := range bindings.Items {
		if !slices.ContainsFunc(binding.Subjects, isOperator) {
			continue
		}
		var role rbacv1.ClusterRole
		Expect(k8s.Get(ctx, client.ObjectKey{Name: binding.RoleRef.Name}, &role)).To(Succeed())
		roles = append(roles, role)
	}
	return roles
}

func isOperator(s rbacv1.Subject) bool {
	return s.Kind == rbacv1.ServiceAccountKind && fmt.Sprintf("system:serviceaccount:%s:%s", s.Namespace, s.Name) == cluster.OperatorUser
}

// setRules of a ClusterRole, which others may change at the same time.
func setRules(ctx context.Context, name string, rules []rbacv1.PolicyRule) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		var role rbacv1.ClusterRole
		if err := k8s.Get(ctx, client.ObjectKey{Name: name}, &role); err != nil {
			return err
		}
		role.Rules = rules
		return k8s.Update(ctx, &role)
	})
}
