package integration

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/redis/go-redis/v9"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

// What is measured is a set of three real servers. The peaceful ones next to it are real, too, of
// one server each: three for each would be 300 processes. The hostile ones are of three fake servers.
const (
	allSets     = 100
	hostileSets = 40
	tenants     = 4 // namespaces that the hostile sets are in
	failovers   = 10
)

// Both measure time, of a hundred real servers, and take minutes: LONG=1 runs them, and nothing in parallel to them.
var _ = Describe("A Redis among others", Serial, func() {
	if os.Getenv("LONG") == "" {
		return
	}
	It("fails over in at most twice its time while 40 of 100 sets in other namespaces are hostile", func(ctx SpecContext) {
		namespaces := make([]string, 2+tenants)
		for i := range namespaces {
			namespaces[i] = newNamespace(ctx)
		}
		install{namespaces: namespaces, images: images}.operate()
		measured := measure(ctx, namespaces[0])
		peaceful(ctx, namespaces[1], allSets-hostileSets-1)
		alone := measured.failOver(ctx, failovers)

		hostile(ctx, namespaces[2:], hostileSets)
		among := measured.failOver(ctx, failovers)
		AddReportEntry(fmt.Sprintf("until another server is master: %s alone, %s among %d hostile sets (medians of %d); most %s and %s",
			median(alone), median(among), hostileSets, failovers, slices.Max(alone), slices.Max(among)))
		Expect(median(among)).To(BeNumerically("<=", 2*median(alone)))
	})

	It("fails over in at most twice its time when a third of 100 sets falls silent at once", func(ctx SpecContext) {
		namespaces := []string{newNamespace(ctx), newNamespace(ctx)}
		install{namespaces: namespaces, images: images}.operate()
		measured := measure(ctx, namespaces[0])
		others := peaceful(ctx, namespaces[1], allSets-1)
		before := measured.failOver(ctx, failovers/2)

		for _, s := range others[:allSets/3] {
			Expect(s.process.Process.Signal(syscall.SIGSTOP)).To(Succeed())
		}
		after := measured.failOver(ctx, failovers/2)
		AddReportEntry(fmt.Sprintf("until another server is master: %s before, %s when %d of %d sets have fallen silent (medians of %d); most "+
			"%s and %s",
			median(before), median(after), allSets/3, allSets, failovers/2, slices.Max(before), slices.Max(after)))
		Expect(median(after)).To(BeNumerically("<=", 2*median(before)))
	})
})

func median(of []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(of))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// measuredSet is one whose masters are killed.
type measuredSet struct {
	*cachev1alpha1.Redis
	servers map[string]*redisServer
	probes  map[string]*redis.Client
}

func measure(ctx context.Context, namespace string) *measuredSet {
	GinkgoHelper()
	m := &measuredSet{Redis: builders.Redis("measured").Size(3).Build(), probes: map[string]*redis.Client{}}
	m.Namespace = namespace
	Expect(admin.Create(ctx, m.Redis)).To(Succeed())
	m.servers = serve(ctx, namespace, m.Name, 3)
	for name, s := range m.servers {
		m.probes[name] = s.client(1, func() (string, string) { return "_probe", "-" })
		DeferCleanup(m.probes[name].Close)
	}
	m.awaitCalm(ctx)
	return m
}

// awaitCalm is over when the set can lose a master again.
func (m *measuredSet) awaitCalm(ctx context.Context) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(m), m.Redis)).To(Succeed())
		g.Expect(m.Status.Master).NotTo(BeEmpty())
		role, err := m.probes[m.Status.Master].Do(ctx, "ROLE").Slice()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(role).To(HaveLen(3))
		g.Expect(role[0]).To(Equal("master"))
		g.Expect(role[2]).To(HaveLen(2), "replicas")
		g.Expect(checkCondition(ctx, m.Redis, commonv1.ConditionFailoverPossible, metav1.ConditionTrue)).To(Succeed())
	}).WithTimeout(time.Minute).Should(Succeed())
}

// failOver that often, each time from a set that is calm, and give how long it took until another
// server said that it is master.
func (m *measuredSet) failOver(ctx context.Context, times int) (took []time.Duration) {
	GinkgoHelper()
	for range times {
		old := m.Status.Master
		heirs := slices.DeleteFunc(slices.Collect(maps.Keys(m.servers)), func(name string) bool { return name == old })
		start := time.Now()
		m.servers[old].stop()
		Eventually(func() bool {
			return slices.ContainsFunc(heirs, func(name string) bool {
				role, err := m.probes[name].Do(ctx, "ROLE").Slice()
				return err == nil && role[0] == "master"
			})
		}).WithTimeout(time.Minute).WithPolling(2 * time.Millisecond).Should(BeTrue())
		took = append(took, time.Since(start))
		m.servers[old].start() // as the kubelet does
		Eventually(func() (string, error) {
			err := admin.Get(ctx, client.ObjectKeyFromObject(m), m.Redis)
			return m.Status.Master, err
		}).WithTimeout(time.Minute).ShouldNot(Equal(old))
		m.awaitCalm(ctx)
	}
	return took
}

// peaceful sets of one server each, and their servers.
func peaceful(ctx context.Context, namespace string, count int) (servers []*redisServer) {
	GinkgoHelper()
	var all []*cachev1alpha1.Redis
	for n := range count {
		obj := builders.Redis(fmt.Sprintf("peaceful-%d", n)).Size(1).Build()
		obj.Namespace = namespace
		Expect(admin.Create(ctx, obj)).To(Succeed())
		all = append(all, obj)
	}
	for _, obj := range all {
		servers = append(servers, serve(ctx, namespace, obj.Name, 1)[obj.Name+"-0"])
	}
	for _, obj := range all {
		Eventually(checkCondition).WithArguments(ctx, obj, commonv1.ConditionAvailable,
			metav1.ConditionTrue).WithTimeout(time.Minute).Should(Succeed())
	}
	return servers
}

// hostile sets of three fake servers each, of every sort in every namespace.
func hostile(ctx context.Context, namespaces []string, count int) {
	GinkgoHelper()
	sorts := slices.Sorted(maps.Keys(fakeServers))
	var all []*cachev1alpha1.Redis
	for n := range count {
		obj := builders.Redis(fmt.Sprintf("hostile-%d", n)).Size(3).Build()
		obj.Namespace = namespaces[n%len(namespaces)]
		Expect(admin.Create(ctx, obj)).To(Succeed())
		all = append(all, obj)
	}
	for n, obj := range all {
		for node := range 3 {
			setPodIP(ctx, client.ObjectKey{Namespace: obj.Namespace, Name: fmt.Sprintf("%s-%d", obj.Name, node)},
				startFakeServer(fakeServers[sorts[n/len(namespaces)%len(sorts)]]))
		}
	}
}
