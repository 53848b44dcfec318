package e2e

import (
	"context"
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
	"github.com/mainstay-operator/mainstay-operator/test/olm"
)

// Without an OperatorCondition, as under OLM v1, an upgrade waits for nothing. So each spec lets the last release start a change, stops
// it at a write of the change, and has this release continue: an upgrade that is slower would find the change ended.
var _ = Describe("An upgrade of the operator", Serial, Ordered, ContinueOnFailure, Label(long, faults, upgrade), func() {
	BeforeAll(func(ctx SpecContext) {
		deployed = managersDeployment(ctx).Spec.Template.Spec.Containers[0]
		Expect(deployed.Env).NotTo(ContainElement(HaveField("Name", "OPERATOR_CONDITION_NAME")))
		last = loadLast(ctx)
	}, NodeTimeout(20*time.Minute)) // it builds the last release
	BeforeEach(func(ctx SpecContext) { runManagers(ctx, last) })
	AfterEach(func(ctx SpecContext) { runManagers(ctx, deployed) })

	DescribeTable("loses no confirmed write of a Redis:", upgradeRedis, redisMoments)
	DescribeTable("loses no acknowledged write of an EtcdCluster:", upgradeEtcd, etcdMoments)
	DescribeTable("starts an EtcdRestore once:", upgradeRestore, restoreMoments)
	DescribeTable("runs an Activity's command once:", upgradeActivity, activityMoments)
	It("lets an Activity's command continue", upgradeWhileCommandRuns)
	It("lets the upload of a backup continue", upgradeWhileUploading)
})

// deployed and last are how the managers run that are deployed, and those of the last release.
var deployed, last corev1.Container

func managersDeployment(ctx context.Context) *appsv1.Deployment {
	GinkgoHelper()
	deployment := &appsv1.Deployment{}
	Expect(k8s.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: cluster.OperatorDeployment}, deployment)).To(Succeed())
	return deployment
}

// loadLast builds the last release, and gives how its managers run.
func loadLast(ctx context.Context) corev1.Container {
	GinkgoHelper()
	root, err := cluster.Root()
	Expect(err).NotTo(HaveOccurred())
	release, err := olm.Previous(root)
	Expect(err).NotTo(HaveOccurred())
	program, err := release.Build(ctx, root, GinkgoT().TempDir())
	Expect(err).NotTo(HaveOccurred())
	Expect(release.Load(ctx, root, program)).To(Succeed())
	csvs, err := olm.CSVs(release.Bundle)
	Expect(err).NotTo(HaveOccurred())
	return csvs[0].Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec.Containers[0]
}

// runManagers replaces the managers by such ones, and waits until these are all that run.
func runManagers(ctx context.Context, like corev1.Container) {
	GinkgoHelper()
	deployment := managersDeployment(ctx)
	before, container := deployment.DeepCopy(), &deployment.Spec.Template.Spec.Containers[0]
	container.Image, container.Args, container.Env = like.Image, like.Args, like.Env
	Expect(k8s.Patch(ctx, deployment, client.MergeFrom(before))).To(Succeed())
	eventuallyOperatorLeads(ctx)
	pods, err := cluster.Operators(ctx, k8s)
	Expect(err).NotTo(HaveOccurred())
	for _, pod := range pods {
		Expect(pod.Spec.Containers[0].Image).To(Equal(like.Image), pod.Name)
	}
}

// stopManagers stops processes where they are, those in waiting, too: so none of them continues what the leader has started. They end
// when their pods are deleted.
func stopManagers(pods []corev1.Pod) error {
	var failed []error
	for _, pod := range pods {
		_, err := fault.Hang(pod.UID, cluster.OperatorProgram)
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// upgradeAt starts something under the last release, which is stopped at a write, and has this release continue.
func upgradeAt(ctx context.Context, w fault.Write, start func()) {
	GinkgoHelper()
	pods, err := cluster.Operators(ctx, k8s)
	Expect(err).NotTo(HaveOccurred())
	stopped, end, err := fault.AtWrite(ctx, k8s, pods[0].Status.HostIP, operatorUser, namespace, w,
		func() error { return stopManagers(pods) })
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(end)
	start()
	Eventually(stopped).WithContext(ctx).Should(Receive(BeNil()), "the last release has not made this write")
	Expect(end()).To(Succeed())
	runManagers(ctx, deployed)
}

// upgradeNow does so without a write.
func upgradeNow(ctx context.Context) {
	GinkgoHelper()
	pods, err := cluster.Operators(ctx, k8s)
	Expect(err).NotTo(HaveOccurred())
	Expect(stopManagers(pods)).To(Succeed())
	runManagers(ctx, deployed)
}
