package redis

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
	"github.com/mainstay-operator/mainstay-operator/test/hostile"
)

const (
	hostileImage = "example.org/hostile:1"
	// mostGrowth of a manager's memory: what is bounded and what is not are magnitudes apart, and how
	// much of its garbage a process holds is its own affair.
	mostGrowth = 2
)

// addHostileServers gives the managers, in another namespace, one server of each sort that lies, stalls or floods.
func addHostileServers(ctx context.Context, s *subject) error {
	if s.hasHostileServers {
		return nil
	}
	s.hasHostileServers = true
	if err := loadImage(ctx, hostileImage, "./test/hostile/server"); err != nil {
		return err
	}
	before, err := managers(ctx)
	if err != nil {
		return err
	}
	memory := map[types.UID]int64{}
	for pod := range before {
		if memory[pod], err = fault.Resident(pod, cluster.OperatorProgram); err != nil {
			return err
		}
	}
	namespace := newNamespace(ctx).Name
	for _, sort := range hostile.Behaviors() {
		r := builders.Redis(string(sort)).Size(1).Image(hostileImage).Build()
		r.Namespace = namespace
		if err := k8s.Create(ctx, r); err != nil {
			return err
		}
	}
	Eventually(func(g Gomega) {
		var pods corev1.PodList
		g.Expect(k8s.List(ctx, &pods, client.InNamespace(namespace))).To(Succeed())
		g.Expect(pods.Items).To(HaveLen(len(hostile.Behaviors())))
		g.Expect(pods.Items).To(HaveEach(HaveField("Status.Phase", corev1.PodRunning)))
	}).WithContext(ctx).Should(Succeed())
	DeferCleanup(func(ctx context.Context) {
		after, err := managers(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(after).To(Equal(before), "a manager ended")
		for pod, was := range memory {
			now, err := fault.Resident(pod, cluster.OperatorProgram)
			Expect(err).NotTo(HaveOccurred())
			AddReportEntry("a manager next to hostile servers",
				fmt.Sprintf("%.0f%% of the memory that it had before", 100*float64(now)/float64(was)))
			Expect(now).To(BeNumerically("<", mostGrowth*was))
		}
	})
	return nil
}

// loadImage builds a program that runs as redis-server, and an image of it.
func loadImage(ctx context.Context, name, source string, flags ...string) error {
	root, err := cluster.Root()
	if err != nil {
		return err
	}
	binary := filepath.Join(GinkgoT().TempDir(), program)
	for _, args := range [][]string{
		{"build", "-o", binary, source},
		append([]string{"run", "-C", "hack/cluster", ".", "image", "--name", name, "--binary", binary}, flags...),
	} {
		command := exec.CommandContext(ctx, "go", args...)
		command.Dir, command.Env = root, append(os.Environ(), "CGO_ENABLED=0")
		if output, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("go %v: %w: %s", args, err, output)
		}
	}
	return nil
}
