package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

var _ = Describe("A Redis that starts with a backup", func() {
	const item = "20260102T120000Z-89abcdef"
	var (
		namespace string
		obj       *cachev1alpha1.Redis
		key       client.ObjectKey // of the pod that fetches
	)
	source := func(g Gomega, ctx SpecContext) *corev1.Pod {
		pod := &corev1.Pod{}
		g.Expect(admin.Get(ctx, key, pod)).To(Succeed())
		return pod
	}
	// report plays the kubelet: a container of that pod has ended.
	report := func(ctx SpecContext, uid string, phase corev1.PodPhase, code int32, message, address string) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			pod := source(g, ctx)
			g.Expect(string(pod.UID)).To(Equal(uid))
			pod.Status.Phase = phase
			pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "fetch", State: corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Done", Message: message, FinishedAt: metav1.Now()}}}}
			if address != "" {
				pod.Status.PodIP, pod.Status.PodIPs = address, []corev1.PodIP{{IP: address}}
			}
			g.Expect(admin.Status().Update(ctx, pod)).To(Succeed())
		}).Should(Succeed())
	}
	degraded := func(ctx SpecContext, reason, words string) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			read, err := live(ctx, obj)
			g.Expect(err).NotTo(HaveOccurred())
			c := conditionOf(read, commonv1.ConditionDegraded)
			g.Expect(c).NotTo(BeNil())
			g.Expect(c.Reason + ": " + c.Message).To(And(HavePrefix(reason), ContainSubstring(words)))
		}).Should(Succeed())
	}

	BeforeEach(func(ctx SpecContext) {
		namespace = newNamespace(ctx)
		obj = builders.Redis("a").Size(1).With(func(s *cachev1alpha1.RedisSpec) {
			s.Bootstrap = &cachev1alpha1.RedisBootstrap{Backup: commonv1.BackupReference{Name: "nightly", Store: commonv1.BackupStore{
				S3: &commonv1.S3Store{Bucket: "backups", SecretName: "keys"}}}}
		}).Build()
		obj.Namespace, key = namespace, client.ObjectKey{Namespace: namespace, Name: "a-restore"}
	})

	It("says why it cannot, and then has the backup's data", func(ctx SpecContext) {
		operate(namespace)
		Expect(admin.Create(ctx, obj)).To(Succeed())
		serve(ctx, namespace, "a", 1)
		var uid string
		Eventually(func(g Gomega) {
			pod := source(g, ctx)
			g.Expect(metav1.IsControlledBy(pod, obj)).To(BeTrue())
			uid = string(pod.UID)
		}).Should(Succeed())

		By("a store that refuses")
		report(ctx, uid, corev1.PodFailed, 1, `{"error":"NoSuchBucket","permanent":true}`, "")
		degraded(ctx, commonv1.ReasonBackupUnusable, "NoSuchBucket")
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
		Expect(obj.Status.Master).To(BeEmpty())

		By("a store that does not any more")
		failed := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: key.Name}}
		Expect(client.IgnoreNotFound(admin.Delete(ctx, failed, client.GracePeriodSeconds(0)))).To(Succeed(), "or the operator was first")
		var again *corev1.Pod
		Eventually(func(g Gomega) {
			again = source(g, ctx)
			g.Expect(string(again.UID)).NotTo(Equal(uid))
		}).WithTimeout(time.Minute).Should(Succeed())
		Expect(again.Spec.Containers[0].Command[0]).To(Equal("redis-server"))
		address := playSource(ctx, again, namespace)
		report(ctx, string(again.UID), corev1.PodRunning, 0, `{"item":{"name":"`+item+`","sha256":"`+dataSum+`"}}`, address)
		Eventually(checkCondition).WithArguments(ctx, obj, commonv1.ConditionAvailable, metav1.ConditionTrue).Should(Succeed())
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
		Expect(obj.Status.LastFailover.Reason).To(Equal(commonv1.ReasonRestored))
		Expect(obj.Status.Restore).To(And(HaveField("Item", item), HaveField("Phase", cachev1alpha1.RedisRestoreCompleted)))
		Eventually(func(g Gomega) {
			pod := &corev1.Pod{}
			if err := admin.Get(ctx, key, pod); err == nil {
				g.Expect(pod.DeletionTimestamp).NotTo(BeNil())
			}
		}).Should(Succeed())
	})

	It("leaves a stranger's pod of that name alone", func(ctx SpecContext) {
		stranger := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: key.Name},
			Spec: corev1.PodSpec{
				SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true),
					SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
				Containers: []corev1.Container{{Name: "c", Image: "busybox", SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}}}}}
		Expect(admin.Create(ctx, stranger)).To(Succeed())
		operate(namespace)
		Expect(admin.Create(ctx, obj)).To(Succeed())
		serve(ctx, namespace, "a", 1)
		degraded(ctx, commonv1.ReasonNameConflict, `"a-restore"`)
		Expect(source(Default, ctx).UID).To(Equal(stranger.UID))
		Expect(source(Default, ctx).DeletionTimestamp).To(BeNil())
	})
})

// playSource starts the server of the pod that serves a backup, by its command, with an empty backup, and gives its address.
func playSource(ctx SpecContext, pod *corev1.Pod, namespace string) string {
	GinkgoHelper()
	s := &redisServer{address: freeAddress(), dir: GinkgoT().TempDir()}
	s.mount(ctx, namespace, "a")
	here := strings.NewReplacer("/scratch", s.dir, "/etc/redis", s.dir)
	command := []string{}
	for _, word := range pod.Spec.Containers[0].Command {
		command = append(command, here.Replace(word))
	}
	Expect(os.Remove(filepath.Join(s.dir, "redis.conf"))).To(Succeed())
	s.process = exec.Command(command[0], append(command[1:], "--bind", s.address)...)
	s.process.Stdout, s.process.Stderr = GinkgoWriter, GinkgoWriter
	Expect(s.process.Start()).To(Succeed())
	DeferCleanup(s.stop)
	return s.address
}
