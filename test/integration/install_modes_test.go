package integration

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

var _ = Describe("Install modes:", func() {
	// Three namespaces, of which the first `of` are looked after.
	for mode, of := range map[string]int{"one namespace": 1, "several namespaces": 2, "all namespaces": 3} {
		forEachKindAndRunning("is looked after in "+mode+" and nowhere else", func(ctx SpecContext, k kind) {
			var places []string
			for range 3 {
				places = append(places, k.newNamespace(ctx))
			}
			how := install{namespaces: places[:of], images: images}
			if of == len(places) {
				clearAway(ctx)
				how.namespaces = nil
			}
			o := how.operate()
			var ours []client.Object
			for n, namespace := range places {
				obj := k.sample()
				obj.SetNamespace(namespace)
				Expect(admin.Create(ctx, obj)).To(Succeed())
				if n < of {
					ours = append(ours, obj)
				}
			}
			for _, obj := range ours {
				k.rest(ctx, obj)
			}
			waitForRest(o)
			for _, obj := range ours { // whatever of it is touched
				before := passes(k)
				touch(ctx, obj, 0)
				Eventually(passes).WithArguments(k).Should(BeNumerically(">", before))
			}
			for _, namespace := range places[of:] {
				untouched(ctx, k, namespace)
				Expect(o.Calls(func(c fault.Call) bool { return c.Namespace == namespace })).To(BeEmpty())
			}
		})
	}

	for _, all := range []bool{false, true} {
		It(fmt.Sprintf("a user's Secret wakes who names it in each of the namespaces, all of them: %t", all), func(ctx SpecContext) {
			k := kindOf("Redis")
			places := []string{k.newNamespace(ctx), k.newNamespace(ctx)}
			how := install{namespaces: places, images: images}
			if all {
				clearAway(ctx)
				how.namespaces = nil
			}
			how.operate()
			for _, namespace := range places {
				obj := k.create(ctx, namespace)
				Expect(admin.Delete(ctx, k.prerequisite(namespace))).To(Succeed())
				Eventually(checkCondition).WithArguments(ctx, obj, inSync, metav1.ConditionFalse, commonv1.ReasonSecretUnusable).Should(Succeed())
			}
		})
	}

	It("needs nothing in a namespace of its own but a lease and events", func(ctx SpecContext) {
		k, own := kindOf("Memcached"), newNamespace(ctx)
		namespace := k.newNamespace(ctx)
		for _, object := range rendered(filepath.Join(root, "config", "rbac")) {
			if object.GetKind() == "Role" {
				object.SetNamespace(own)
				Expect(admin.Create(ctx, object)).To(Succeed())
				Expect(admin.Create(ctx, toOperator(client.ObjectKeyFromObject(object)))).To(Succeed())
			}
		}
		o := install{namespaces: []string{namespace}, own: own, images: images}.operate()
		k.create(ctx, namespace)
		Expect(o.Calls(func(c fault.Call) bool {
			return c.Namespace == own && c.Resource != "leases" && c.Resource != "events" || c.Resource == "leases" && c.Namespace != own
		})).To(BeEmpty())
		Expect(o.Calls(func(c fault.Call) bool { return c.Resource == "leases" && c.Writes() })).NotTo(BeEmpty())
	})

	It("every install passes the manager its own image", func(ctx SpecContext) {
		for _, objects := range [][]*unstructured.Unstructured{
			namespaced(newNamespace(ctx)), rendered(filepath.Join(root, "config", "default")), rendered(filepath.Join(root, "config", "manifests")),
		} {
			manager := managerOf(objects)
			Expect(manager.Env).To(ContainElement(corev1.EnvVar{Name: "RELATED_IMAGE_OPERATOR", Value: manager.Image}))
		}
	})

	Describe("the namespaced install", func() {
		It("has nothing of the cluster's, and a manager that asks for nothing of it", func(ctx SpecContext) {
			namespace := newNamespace(ctx)
			var kinds []string
			for _, object := range namespaced(namespace) {
				kinds = append(kinds, object.GetKind())
				Expect(object.GetNamespace()).To(Equal(namespace))
				Expect(admin.Create(ctx, object, client.DryRunAll)).To(Succeed())
			}
			Expect(kinds).To(ConsistOf("ServiceAccount", "Role", "Role", "Role", "Role", "RoleBinding", "RoleBinding", "Deployment", "NetworkPolicy",
				"PodDisruptionBudget"))

			manager := managerOf(namespaced(namespace))
			Expect(manager.Env).To(ContainElement(corev1.EnvVar{Name: "WATCH_NAMESPACE", ValueFrom: &corev1.EnvVarSource{
				FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}}}))
			Expect(manager.Args).To(ContainElements("--leader-elect", "--metrics-bind-address=127.0.0.1:8080", "--metrics-secure=false"))
			// Whatever else the manager is given, it is given here, too.
			usual := managerOf(rendered(filepath.Join(root, "config", "default")))
			Expect(manager.Args).To(HaveLen(len(usual.Args) + 1))
			Expect(manager.Env).To(HaveLen(len(usual.Env)))
		})

		forEachKindAndRunning("is looked after by the rights of that install", func(ctx SpecContext, k kind) {
			namespace, elsewhere := k.newNamespace(ctx), k.newNamespace(ctx)
			o := install{rights: namespacedRights(ctx, namespace), namespaces: []string{namespace}, own: namespace, images: images}.operate()
			other := k.sample()
			other.SetNamespace(elsewhere)
			Expect(admin.Create(ctx, other)).To(Succeed())
			obj := k.create(ctx, namespace)
			if k.edit != nil {
				update(ctx, obj, k.edit)
				k.rest(ctx, obj)
			}
			Expect(admin.Delete(ctx, obj)).To(Succeed())
			Eventually(func() (map[string]*unstructured.Unstructured, error) { return childrenIn(ctx, namespace) }).Should(BeEmpty())
			untouched(ctx, k, elsewhere)
			Expect(o.Calls(func(c fault.Call) bool { return c.Namespace != namespace && c.Resource != "discovery" })).To(BeEmpty())
			Expect(o.Calls(func(c fault.Call) bool { return c.Resource == "leases" && c.Writes() })).NotTo(BeEmpty())
		})
	})
})

// runningActivity is a row for Activity, which no other table has: its pod is let go and,
// with no one to run it, stays so.
var runningActivity = kind{
	name:   "Activity",
	level:  "restricted",
	sample: func() client.Object { return builders.Activity("a", "true").Build() },
	done: func(ctx context.Context, obj client.Object) error {
		var pods corev1.PodList
		if err := admin.List(ctx, &pods, client.InNamespace(obj.GetNamespace())); err != nil {
			return err
		}
		if len(pods.Items) != 1 || len(pods.Items[0].Spec.SchedulingGates) > 0 {
			return fmt.Errorf("%d pods, or one that is not let go", len(pods.Items))
		}
		return checkCondition(ctx, obj, commonv1.ConditionProgressing, metav1.ConditionTrue)
	},
}

func forEachKindAndRunning(text string, spec func(ctx SpecContext, k kind)) {
	forEachKind(text, spec)
	It(runningActivity.name+" "+text, func(ctx SpecContext) { spec(ctx, runningActivity) })
}

// untouched expects the kind's sample to be there as it was made.
func untouched(ctx context.Context, k kind, namespace string) {
	GinkgoHelper()
	obj := k.sample()
	obj.SetNamespace(namespace)
	read, err := live(ctx, obj)
	Expect(err).NotTo(HaveOccurred())
	Expect(read.Object).To(HaveKeyWithValue("status", map[string]any{"observedGeneration": int64(-1)}), "the default of the CRD")
	Expect(childrenIn(ctx, namespace)).To(BeEmpty())
	var pods corev1.PodList
	Expect(admin.List(ctx, &pods, client.InNamespace(namespace))).To(Succeed())
	Expect(pods.Items).To(BeEmpty())
}

// toOperator binds the Role of that name to the operator.
func toOperator(role client.ObjectKey) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: role.Namespace, Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: operatorUser}},
	}
}

// clearAway what other specs have left: an operator of all namespaces would work on it.
func clearAway(ctx context.Context) {
	GinkgoHelper()
	for _, object := range controllers.Objects() {
		of, err := apiutil.GVKForObject(object, scheme)
		Expect(err).NotTo(HaveOccurred())
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(of.GroupVersion().WithKind(of.Kind + "List"))
		Expect(admin.List(ctx, list)).To(Succeed())
		for i := range list.Items {
			Expect(client.IgnoreNotFound(admin.Delete(ctx, &list.Items[i]))).To(Succeed())
		}
	}
}

func kindOf(name string) kind {
	GinkgoHelper()
	for _, k := range kinds {
		if k.name == name {
			return k
		}
	}
	Fail("no kind " + name)
	return kind{}
}

// namespaced is config/namespaced as a user takes it for a namespace.
func namespaced(namespace string) []*unstructured.Unstructured {
	GinkgoHelper()
	folder := GinkgoT().TempDir()
	base, err := filepath.Abs(filepath.Join(root, "config", "namespaced"))
	Expect(err).NotTo(HaveOccurred())
	way, err := filepath.Rel(folder, base)
	Expect(err).NotTo(HaveOccurred())
	overlay := fmt.Appendf(nil, "namespace: %s\nresources: [%s]\n", namespace, way)
	Expect(os.WriteFile(filepath.Join(folder, "kustomization.yaml"), overlay, 0o600)).To(Succeed())
	return rendered(folder)
}

// rendered gives the objects of a folder of kustomize's.
func rendered(folder string) []*unstructured.Unstructured {
	GinkgoHelper()
	text, err := exec.Command(filepath.Join(cluster.BinaryAssetsDirectory, "kubectl"), "kustomize", folder).Output()
	Expect(err).NotTo(HaveOccurred())
	var objects []*unstructured.Unstructured
	for decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); err != nil {
			return objects
		}
		objects = append(objects, object)
	}
}

// managerOf gives the container of the Deployment.
func managerOf(objects []*unstructured.Unstructured) corev1.Container {
	GinkgoHelper()
	for _, object := range objects {
		if object.GetKind() == "Deployment" {
			var d appsv1.Deployment
			Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &d)).To(Succeed())
			return d.Spec.Template.Spec.Containers[0]
		}
	}
	Fail("there is no Deployment")
	return corev1.Container{}
}

// namespacedRights installs the overlay's rights and gives the operator's.
func namespacedRights(ctx context.Context, namespace string) *rest.Config {
	GinkgoHelper()
	account := ""
	for _, object := range namespaced(namespace) {
		switch object.GetKind() {
		case "Deployment":
			account, _, _ = unstructured.NestedString(object.Object, "spec", "template", "spec", "serviceAccountName")
		default:
			Expect(admin.Create(ctx, object)).To(Succeed())
		}
	}
	var bindings rbacv1.RoleBindingList
	Expect(admin.List(ctx, &bindings, client.InNamespace(namespace))).To(Succeed())
	Expect(bindings.Items).To(HaveEach(HaveField("Subjects",
		ConsistOf(rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: account, Namespace: namespace}))))
	config := rest.CopyConfig(cluster.Config)
	config.QPS = -1
	config.Impersonate = rest.ImpersonationConfig{
		UserName: fmt.Sprintf("system:serviceaccount:%s:%s", namespace, account),
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
	}
	return config
}
