package fault

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// InjectLabel is borne by pods that are to be injected into; its value is the container's name.
const InjectLabel = "mainstay-fault.test/inject"

// InjectionNeeds are the versions of Kubernetes that have MutatingAdmissionPolicy in v1.
const InjectionNeeds = ">= 1.36.0"

// Where an injected container goes.
const (
	Regular = "regular" // the pod's containers
	Sidecar = "sidecar" // its init containers, to run next to the others
	Before  = "before"  // its init containers
)

// Injected is a container that the API server adds to pods, as a mesh's webhook does.
type Injected struct {
	// Name of the container, and of those whom it is for: the value of their InjectLabel.
	Name, Image string
	// Script is run by the image's /bin/sh.
	Script string
	// Where is one of Regular, Sidecar and Before.
	Where string
}

// Inject has the API server add the container to the namespace's pods, from now on.
func (i Injected) Inject(ctx context.Context, c client.Client, namespace string) (undo func() error, err error) {
	policy, binding := i.policy(namespace)
	undo = func() error {
		end := context.WithoutCancel(ctx)
		return errors.Join(client.IgnoreNotFound(c.Delete(end, binding)), client.IgnoreNotFound(c.Delete(end, policy)))
	}
	for _, obj := range []client.Object{policy, binding} {
		if err := c.Create(ctx, obj); err != nil {
			return nil, errors.Join(err, undo())
		}
	}
	var tried error
	err = wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		pod := i.probe(namespace)
		tried = c.Create(ctx, pod, client.DryRunAll)
		return tried == nil && len(pod.Spec.Containers)+len(pod.Spec.InitContainers) > 1, nil
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("container %s is not injected: %w", i.Name, err), tried, undo())
	}
	return undo, nil
}

// probe is a pod that is to be injected into and meets every Pod Security level.
func (i Injected) probe(namespace string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "probe", Labels: map[string]string{InjectLabel: i.Name}},
		Spec: corev1.PodSpec{
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](65532),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{Name: "probe", Image: i.Image, SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			}}},
		},
	}
}

func (i Injected) policy(namespace string) (*admissionregistrationv1.MutatingAdmissionPolicy,
	*admissionregistrationv1.MutatingAdmissionPolicyBinding) {
	name := "mainstay-fault-" + namespace + "-" + i.Name
	policy := &admissionregistrationv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			FailurePolicy:      ptr.To(admissionregistrationv1.Fail),
			ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
			MatchConstraints: &admissionregistrationv1.MatchResources{
				ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{InjectLabel: i.Name}},
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
					RuleWithOperations: admissionregistrationv1.RuleWithOperations{
						Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
						Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
					},
				}},
			},
			Mutations: []admissionregistrationv1.Mutation{{
				PatchType: admissionregistrationv1.PatchTypeJSONPatch,
				JSONPatch: &admissionregistrationv1.JSONPatch{Expression: i.patch()},
			}},
		},
	}
	binding := &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{
			PolicyName: name,
			MatchResources: &admissionregistrationv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace}}},
		},
	}
	return policy, binding
}

// patch in CEL. The container meets the level Restricted in a pod that does.
func (i Injected) patch() string {
	list, restart := "containers", ""
	switch i.Where {
	case Sidecar:
		list, restart = "initContainers", `restartPolicy: "Always",`
	case Before:
		list = "initContainers"
	}
	container := fmt.Sprintf(`Object.spec.%[1]s{
		name: %[2]s, image: %[3]s, command: ["/bin/sh", "-c", %[4]s], %[5]s
		securityContext: Object.spec.%[1]s.securityContext{
			allowPrivilegeEscalation: false,
			capabilities: Object.spec.%[1]s.securityContext.capabilities{drop: ["ALL"]}
		}
	}`, list, strconv.Quote(i.Name), strconv.Quote(i.Image), strconv.Quote(i.Script), restart)
	if list == "containers" {
		return fmt.Sprintf(`[JSONPatch{op: "add", path: "/spec/containers/-", value: %s}]`, container)
	}
	return fmt.Sprintf(`has(object.spec.initContainers) ?
		[JSONPatch{op: "add", path: "/spec/initContainers/-", value: %[1]s}] :
		[JSONPatch{op: "add", path: "/spec/initContainers", value: [%[1]s]}]`, container)
}
