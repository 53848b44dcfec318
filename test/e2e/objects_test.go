package e2e

import (
	"context"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
)

// object is any object of the operator's kinds.
type object interface {
	client.Object
	GetConditions() *[]metav1.Condition
}

// create makes an object in the spec's namespace.
func create(ctx context.Context, obj client.Object) {
	GinkgoHelper()
	obj.SetNamespace(namespace)
	Expect(k8s.Create(ctx, obj)).To(Succeed())
}

// refresh reads an object again.
func refresh(ctx context.Context, obj client.Object) {
	GinkgoHelper()
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
}

// edit changes an object as a user's editor does: read, change, write, again
// when somebody else was quicker.
func edit[T client.Object](ctx context.Context, obj T, change func(T)) {
	GinkgoHelper()
	Expect(retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		change(obj)
		return k8s.Update(ctx, obj)
	})).To(Succeed())
}

// condition is the object's own word on one matter, for its present generation;
// an older word counts as none.
func condition(obj object, conditionType string) metav1.Condition {
	found := meta.FindStatusCondition(*obj.GetConditions(), conditionType)
	if found == nil || found.ObservedGeneration != obj.GetGeneration() {
		return metav1.Condition{Type: conditionType, Status: metav1.ConditionUnknown, Reason: "NotYetSaid"}
	}
	return *found
}

// eventually reads the object again until its condition has a status, and
// gives that condition.
func eventually(ctx context.Context, obj object, conditionType string, status metav1.ConditionStatus) metav1.Condition {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
		g.Expect(condition(obj, conditionType)).To(HaveField("Status", status), "conditions: %+v", *obj.GetConditions())
	}).WithContext(ctx).Should(Succeed())
	return condition(obj, conditionType)
}

// eventuallyReady waits until the object's present generation is Ready.
func eventuallyReady(ctx context.Context, obj object) {
	GinkgoHelper()
	eventually(ctx, obj, commonv1.ConditionReady, metav1.ConditionTrue)
}

// eventuallyGone waits until this very object, by its UID, exists no more.
func eventuallyGone(ctx context.Context, obj client.Object) {
	GinkgoHelper()
	uid := obj.GetUID()
	Eventually(func(g Gomega) {
		err := k8s.Get(ctx, client.ObjectKeyFromObject(obj), obj)
		if err == nil && obj.GetUID() != uid {
			return // its name lives on, it does not
		}
		g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%s still exists: %v", obj.GetName(), err)
	}).WithContext(ctx).Should(Succeed())
}

// eventuallyNotPulled waits until the image of a pod cannot be pulled.
func eventuallyNotPulled(ctx context.Context, kind, instance string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(podsOf(ctx, kind, instance)).To(ContainElement(HaveField("Status.ContainerStatuses",
			ContainElement(HaveField("State.Waiting", HaveValue(HaveField("Reason", Or(Equal("ErrImagePull"), Equal("ImagePullBackOff")))))))))
	}).WithContext(ctx).Should(Succeed())
}

// podsOf lists the pods that bear the labels of an object's pods: kind in
// lower case, and the object's name.
func podsOf(ctx context.Context, kind, name string) []corev1.Pod {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(k8s.List(ctx, &pods, client.InNamespace(namespace),
		client.MatchingLabels{"app.kubernetes.io/name": kind, "app.kubernetes.io/instance": name})).To(Succeed())
	return pods.Items
}

// everything lists what is in the spec's namespace, whatever its kind, but
// events and what every namespace has; sorted by "resource/name".
func everything(ctx context.Context) []metav1.PartialObjectMetadata {
	GinkgoHelper()
	client, err := discovery.NewDiscoveryClientForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	kinds, err := client.ServerPreferredNamespacedResources()
	Expect(err).NotTo(HaveOccurred())
	var all []metav1.PartialObjectMetadata
	for _, group := range kinds {
		for _, resource := range group.APIResources {
			if slices.Contains(resource.Verbs, "list") && resource.Kind != "Event" {
				all = append(all, list(ctx, schema.FromAPIVersionAndKind(group.GroupVersion, resource.Kind))...)
			}
		}
	}
	all = slices.DeleteFunc(all, func(o metav1.PartialObjectMetadata) bool {
		return o.Kind == "ServiceAccount" && o.Name == "default" || o.Kind == "ConfigMap" && o.Name == "kube-root-ca.crt"
	})
	slices.SortFunc(all, func(a, b metav1.PartialObjectMetadata) int { return strings.Compare(name(a), name(b)) })
	return all
}

func list(ctx context.Context, kind schema.GroupVersionKind) []metav1.PartialObjectMetadata {
	GinkgoHelper()
	found := metav1.PartialObjectMetadataList{}
	found.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	Expect(k8s.List(ctx, &found, client.InNamespace(namespace))).To(Succeed(), kind.String())
	for i := range found.Items {
		found.Items[i].SetGroupVersionKind(kind)
	}
	return found.Items
}

func name(o metav1.PartialObjectMetadata) string { return o.Kind + "/" + o.Name }

func names(all []metav1.PartialObjectMetadata) []string {
	list := make([]string, 0, len(all))
	for _, o := range all {
		list = append(list, name(o))
	}
	return list
}

// children are the objects in the spec's namespace that owner controls.
func children(ctx context.Context, owner client.Object) []metav1.PartialObjectMetadata {
	GinkgoHelper()
	return slices.DeleteFunc(everything(ctx), func(o metav1.PartialObjectMetadata) bool {
		controller := metav1.GetControllerOfNoCopy(&o)
		return controller == nil || controller.UID != owner.GetUID()
	})
}

// kubectl runs the users' own tool in the spec's namespace, and gives its output.
func kubectl(ctx context.Context, args ...string) string {
	GinkgoHelper()
	output, err := cluster.Kubectl(ctx, append([]string{"--namespace", namespace}, args...)...)
	Expect(err).NotTo(HaveOccurred())
	return output
}

// root is the top of the checkout, from where tests run.
const root = "../.."
