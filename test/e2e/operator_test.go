package e2e

import (
	"context"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
	"github.com/mainstay-operator/mainstay-operator/test/traffic"
)

const (
	operatorNamespace = cluster.OperatorNamespace
	operatorUser      = "system:serviceaccount:" + operatorNamespace + ":" + cluster.OperatorDeployment
)

// hack/cluster's node is this machine: the manager is one of its processes.
var _ = Describe("The leading manager", Serial, Label(faults), func() {
	It("is followed when the kubelet reports its end, and no workload notices", func(ctx SpecContext) {
		web := builders.EasyService("web").Size(2).Ports(appv1.Port{Name: "http", Port: 80}).Build()
		memcached, redis := builders.Memcached("cache").Size(2).Memory("16Mi").Build(), builders.Redis("data").Build()
		command := builders.Activity("run", "sleep 20").Build()
		for _, obj := range []object{web, memcached, redis, command} {
			create(ctx, obj)
		}
		for _, obj := range []object{web, memcached, redis} {
			eventuallyReady(ctx, obj)
		}
		eventuallyAnswers(ctx, web, 80)
		w := writing(ctx, redis)
		Eventually(func() egov1.ProcessState {
			refresh(ctx,
				command)
			return command.Status.Prosta
		}).WithContext(ctx).Should(Equal(egov1.Running))
		before := containers(ctx)
		load := traffic.StartLoad(traffic.At(offered(ctx, web).Spec.ClusterIP), traffic.Service{Namespace: namespace, Name: web.Name, Port: 80},
			"/", 50)

		leader := leading(ctx)
		killed := time.Now()
		Expect(fault.Kill(leader.UID, cluster.OperatorProgram)).To(Succeed())
		Eventually(func() string { name, _ := cluster.Leader(ctx, k8s); return name }).WithContext(ctx).WithPolling(20 * time.Millisecond).
			ShouldNot(Or(BeEmpty(), Equal(leader.Name)))
		AddReportEntry("a leader was killed", fmt.Sprintf("another leads after %s", time.Since(killed).Round(time.Millisecond)))
		log := kubectl(ctx, "logs", "--namespace", operatorNamespace, leading(ctx).Name)
		Expect(log).To(MatchRegexp(`"taking the lease","holder":"%s[^"]*","ended":true`, leader.Name+"_"))

		next := builders.Memcached("next").Size(1).Memory("16Mi").Build()
		create(ctx, next)
		eventuallyReady(ctx, next)
		Eventually(func() egov1.ProcessState {
			refresh(ctx,
				command)
			return command.Status.Prosta
		}).WithContext(ctx).Should(Equal(egov1.Succeeded))
		Expect(command.Status.Attempts).To(HaveLen(1))
		seen := load.Stop()
		Expect(seen.Failed).To(BeZero(), "of %d: %v", seen.Requests, seen.First)
		Expect(w.Refusals()).To(BeEmpty())
		Expect(w.Lost(ctx)).To(BeEmpty())
		refresh(ctx, redis)
		Expect(redis.Status.Epoch).To(BeEquivalentTo(1))
		after := containers(ctx)
		for container := range before {
			Expect(after).To(HaveKey(container))
		}
		eventuallyOperatorLeads(ctx)
	})
})

// containers that run in the spec's namespace, but for those of commands, which end.
func containers(ctx context.Context) map[string]bool {
	GinkgoHelper()
	running := map[string]bool{}
	for _, app := range []struct{ name, instance string }{{"easyservice", "web"}, {"memcached", "cache"}, {"redis", "data"}} {
		for _, pod := range podsOf(ctx, app.name, app.instance) {
			for _, c := range pod.Status.ContainerStatuses {
				running[fmt.Sprint(pod.Name, " ", pod.Labels["mainstay-operator.io/role"], " ", c.ContainerID, " ", c.Ready)] = true
			}
		}
	}
	return running
}

// leading is the pod of the manager that leads.
func leading(ctx context.Context) corev1.Pod {
	GinkgoHelper()
	leader, err := cluster.Leader(ctx, k8s)
	Expect(err).NotTo(HaveOccurred())
	pods, err := cluster.Operators(ctx, k8s)
	Expect(err).NotTo(HaveOccurred())
	i := slices.IndexFunc(pods, func(p corev1.Pod) bool { return p.Name == leader })
	Expect(i).NotTo(Equal(-1), "the leader %q does not run", leader)
	return pods[i]
}

// killLeader removes the leading manager's pod without grace: it can finish nothing, and no one
// reports its end.
func killLeader(ctx context.Context) {
	GinkgoHelper()
	leader := leading(ctx)
	Expect(k8s.Delete(ctx, &leader, client.GracePeriodSeconds(0))).To(Succeed())
}

// restartOperator replaces every manager and waits until one of the new ones leads.
func restartOperator(ctx context.Context) {
	GinkgoHelper()
	old, err := cluster.Operators(ctx, k8s)
	Expect(err).NotTo(HaveOccurred())
	for i := range old {
		Expect(client.IgnoreNotFound(k8s.Delete(ctx, &old[i]))).To(Succeed())
	}
	for i := range old {
		eventuallyGone(ctx, &old[i])
	}
	eventuallyOperatorLeads(ctx)
}

// eventuallyOperatorLeads waits until all managers are ready and one of them leads.
func eventuallyOperatorLeads(ctx context.Context) {
	GinkgoHelper()
	Eventually(cluster.Leads).WithContext(ctx).WithArguments(k8s).Should(Succeed())
}
