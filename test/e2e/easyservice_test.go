package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/traffic"
)

// nginxImage is the one that the samples' cluster has; it starts as root.
const nginxImage = "docker.io/library/nginx:1.26"

var _ = Describe("EasyService", func() {
	web := func(size int32) *appv1.EasyService {
		return &appv1.EasyService{
			ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec: appv1.EasyServiceSpec{
				Size: ptr.To(size), Image: nginxImage, Ports: []appv1.Port{{Name: "http", Port: 80}},
				PodOptions: commonv1.PodOptions{TerminationGracePeriodSeconds: ptr.To[int64](1)},
			},
		}
	}

	It("answers on its node port, the one that its status names", func(ctx SpecContext) {
		e := web(2)
		create(ctx, e)
		eventuallyReady(ctx, e)
		eventuallyAnswers(ctx, e, 80)
		Expect(e.Status.ReadyReplicas).To(BeEquivalentTo(2))
		Expect(e.Status.Endpoints).To(ContainElement(And(
			HaveField("Type", corev1.ServiceTypeNodePort), HaveField("URL", HavePrefix("http://")),
		)))
	})

	It("goes to 0 pods and back, by its scale subresource", func(ctx SpecContext) {
		e := web(2)
		create(ctx, e)
		eventuallyReady(ctx, e)
		for _, size := range []int32{0, 3} {
			kubectl(ctx, "patch", "easyservice/web", "--subresource=scale", "--type=merge", "--patch", fmt.Sprintf(`{"spec":{"replicas":%d}}`, size))
			refresh(ctx, e)
			Expect(e.Spec.Size).To(HaveValue(Equal(size)))
			eventuallyReady(ctx, e)
			Eventually(func(g Gomega) {
				refresh(ctx, e)
				g.Expect(e.Status.Replicas).To(Equal(size))
				g.Expect(e.Status.ReadyReplicas).To(Equal(size))
				g.Expect(podsOf(ctx, "easyservice", "web")).To(HaveLen(int(size)))
			}).WithContext(ctx).Should(Succeed())
		}
		eventuallyAnswers(ctx, e, 80)
	})

	It("keeps its node port through a new name, a new number and back", func(ctx SpecContext) {
		e := web(1)
		create(ctx, e)
		eventuallyReady(ctx, e)
		held := offered(ctx, e).Spec.Ports[0].NodePort
		for _, port := range []appv1.Port{
			{Name: "web", Port: 80}, {Name: "web", Port: 8080, TargetPort: ptr.To(intstr.FromInt32(80))},
			{Name: "http", Port: 8080, TargetPort: ptr.To(intstr.FromInt32(80))}, {Name: "http", Port: 80},
		} {
			edit(ctx, e, func(e *appv1.EasyService) { e.Spec.Ports = []appv1.Port{port} })
			Eventually(func(g Gomega) {
				now := offered(ctx, e).Spec.Ports
				g.Expect(now).To(HaveLen(1))
				g.Expect(now[0]).To(And(HaveField("Name", port.Name), HaveField("Port", port.Port), HaveField("NodePort", held)))
			}).WithContext(ctx).Should(Succeed())
			eventuallyReady(ctx, e)
			eventuallyAnswers(ctx, e, port.Port)
		}
	})

	It("survives kubectl rollout restart", func(ctx SpecContext) {
		e := web(1)
		create(ctx, e)
		eventuallyReady(ctx, e)
		before := podsOf(ctx, "easyservice", "web")
		kubectl(ctx, "rollout", "restart", "deployment/web")
		kubectl(ctx, "rollout", "status", "deployment/web", "--timeout="+eventuallyTimeout.String())
		eventuallyReady(ctx, e)
		Expect(podsOf(ctx, "easyservice", "web")).To(ContainElement(HaveField("UID", Not(Equal(before[0].UID)))))
		Consistently(func() map[string]string { return deployment(ctx, e).Spec.Template.Annotations }).
			WithContext(ctx).WithTimeout(3*time.Second).WithPolling(500*time.Millisecond).
			Should(HaveKey("kubectl.kubernetes.io/restartedAt"), "what kubectl wrote is not ours to take back")
	})

	It("says why an image cannot be pulled, and heals with a better one", func(ctx SpecContext) {
		e := web(1)
		// Nothing listens on the node's discard port: the refusal is quick and local.
		e.Spec.Image = "127.0.0.1:9/nothing/here:1"
		create(ctx, e)
		Expect(eventually(ctx, e, commonv1.ConditionDegraded, metav1.ConditionTrue)).To(And(
			HaveField("Reason", commonv1.ReasonPodFailing), HaveField("Message", ContainSubstring(e.Spec.Image)),
		))
		edit(ctx, e, func(e *appv1.EasyService) { e.Spec.Image = nginxImage })
		eventuallyReady(ctx, e)
		Expect(condition(e, commonv1.ConditionDegraded).Status).To(Equal(metav1.ConditionFalse))
		eventuallyAnswers(ctx, e, 80)
	})

	It("says that a root image may not run as Restricted, and heals as Baseline", func(ctx SpecContext) {
		e := web(1)
		e.Spec.Security = commonv1.SecurityRestricted
		create(ctx, e)
		Expect(eventually(ctx, e, commonv1.ConditionDegraded, metav1.ConditionTrue)).To(And(
			HaveField("Reason", commonv1.ReasonPodFailing), HaveField("Message", ContainSubstring("runAsNonRoot")),
		))
		edit(ctx, e, func(e *appv1.EasyService) { e.Spec.Security = commonv1.SecurityBaseline })
		eventuallyReady(ctx, e)
		eventuallyAnswers(ctx, e, 80)
	})

	It("says that a node port is taken, and takes it when it is free", func(ctx SpecContext) {
		first, second := web(1), web(1)
		// Of the lower numbers, which no other Service is given by lot.
		first.Spec.Ports[0].NodePort = 30061
		create(ctx, first)
		eventuallyReady(ctx, first)
		second.Name = "late"
		second.Spec.Ports[0].NodePort = first.Spec.Ports[0].NodePort
		create(ctx, second)
		Expect(eventually(ctx, second, commonv1.ConditionDegraded, metav1.ConditionTrue)).To(And(
			HaveField("Reason", commonv1.ReasonRefusedByServer), HaveField("Message", ContainSubstring("provided port is already allocated")),
		))
		Expect(k8s.Delete(ctx, first)).To(Succeed())
		eventuallyReady(ctx, second)
		eventuallyAnswers(ctx, second, 80)
	})
})

// deployment is the one behind an EasyService.
func deployment(ctx context.Context, e *appv1.EasyService) *appsv1.Deployment {
	GinkgoHelper()
	found := &appsv1.Deployment{}
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(e), found)).To(Succeed())
	return found
}

// offered is the Service in front of an EasyService.
func offered(ctx context.Context, e *appv1.EasyService) *corev1.Service {
	GinkgoHelper()
	found := &corev1.Service{}
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(e), found)).To(Succeed())
	return found
}

// eventuallyAnswers asks for the start page, as soon as the Service routes: over
// the node port where the machine is a node.
func eventuallyAnswers(ctx context.Context, e *appv1.EasyService, port int32) {
	GinkgoHelper()
	through := network
	if cluster.Local() {
		through = traffic.ByNodePort(k8s)
	}
	Eventually(func(g Gomega) {
		limited, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		answer, err := traffic.Get(limited, through, traffic.Service{Namespace: e.Namespace, Name: e.Name, Port: port}, "/")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(answer.Code).To(Equal(200))
	}).WithContext(ctx).Should(Succeed())
}
