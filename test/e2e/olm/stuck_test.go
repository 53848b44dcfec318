package olm

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/olm"
)

// stuck makes a Redis whose master has changed and whose Service cannot follow,
// since the API server refuses it, until it is let go.
func stuck(ctx context.Context) (letGo func(context.Context)) {
	GinkgoHelper()
	redis := builders.Redis("stuck").Size(2).Build()
	redis.Namespace = newNamespace(ctx)
	Expect(k8s.Create(ctx, redis)).To(Succeed())
	well := func(ctx context.Context) error {
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(redis), redis); err != nil {
			return err
		}
		if last := redis.Status.LastFailover; last == nil || last.RoutedAt == nil ||
			!meta.IsStatusConditionTrue(redis.Status.Conditions, commonv1.ConditionReady) {
			return fmt.Errorf("%+v %+v", last, redis.Status.Conditions)
		}
		return nil
	}
	Eventually(well).WithContext(ctx).Should(Succeed())

	refused := refusal(redis.Namespace)
	for _, obj := range refused {
		Expect(k8s.Create(ctx, obj)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(k8s.Delete(ctx, obj))).To(Succeed()) })
	}
	Eventually(func() error { // the API server learns of it by a watch
		return k8s.Patch(ctx, service(redis), client.RawPatch("application/merge-patch+json",
			[]byte(`{"metadata":{"annotations":{"refused":"no"}}}`)), client.DryRunAll)
	}).WithContext(ctx).ShouldNot(Succeed())

	before := redis.DeepCopy()
	other := map[string]string{"stuck-0": "stuck-1", "stuck-1": "stuck-0"}[redis.Status.Master]
	redis.Annotations = map[string]string{cachev1alpha1.RedisSwitchover: other}
	Expect(k8s.Patch(ctx, redis, client.MergeFrom(before))).To(Succeed())
	Eventually(func() (bool, error) {
		err := k8s.Get(ctx, client.ObjectKeyFromObject(redis), redis)
		return redis.Status.Master == other && redis.Status.LastFailover.RoutedAt == nil, err
	}).WithContext(ctx).Should(BeTrue())
	return func(ctx context.Context) {
		for _, obj := range refused {
			Expect(k8s.Delete(ctx, obj)).To(Succeed())
		}
		Eventually(well).WithContext(ctx).Should(Succeed())
	}
}

func service(r *cachev1alpha1.Redis) client.Object {
	obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Name}}
	obj.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Service"))
	return obj
}

// refusal of every change of a Service in a namespace.
func refusal(namespace string) []client.Object {
	name := "mainstay-fault-" + namespace
	fail := admissionv1.Fail
	return []client.Object{
		&admissionv1.ValidatingAdmissionPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: admissionv1.ValidatingAdmissionPolicySpec{
				FailurePolicy: &fail,
				MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
					RuleWithOperations: admissionv1.RuleWithOperations{
						Operations: []admissionv1.OperationType{admissionv1.Update},
						Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"services"}},
					},
				}}},
				Validations: []admissionv1.Validation{{Expression: "false", Message: "injected: no Service changes"}},
			},
		},
		&admissionv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName:        name,
				ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
				MatchResources: &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
					MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace}}},
			},
		},
	}
}

// held is nil when OLM has the release and waits for the one that runs.
func held(ctx context.Context, r olm.Release) error {
	var csv operators.ClusterServiceVersion
	if err := k8s.Get(ctx, client.ObjectKey{Namespace: olm.Namespace, Name: r.Name}, &csv); err != nil {
		return err
	}
	if csv.Status.Phase != operators.CSVPhasePending || csv.Status.Reason != operators.CSVReasonOperatorConditionNotUpgradeable {
		return fmt.Errorf("%s is %s, %s: %s", r.Name, csv.Status.Phase, csv.Status.Reason, csv.Status.Message)
	}
	return nil
}
