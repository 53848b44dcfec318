package olm

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/olm"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// release is a bundle, whose image is where the cluster finds it.
type release struct{ bundle, name string }

// current is the release of this tree.
func current(ctx context.Context) release {
	GinkgoHelper()
	root, err := cluster.Root()
	Expect(err).NotTo(HaveOccurred())
	return made(ctx, filepath.Join(root, "bundle"), manager(ctx))
}

// manager of this tree.
func manager(ctx context.Context) string {
	GinkgoHelper()
	root, err := cluster.Root()
	Expect(err).NotTo(HaveOccurred())
	return build(ctx, root)
}

// kept is a release that is kept with its commit, from which its image is built.
func kept(ctx context.Context, version string) release {
	GinkgoHelper()
	root, err := cluster.Root()
	Expect(err).NotTo(HaveOccurred())
	folder := filepath.Join(root, "test", "olm", version)
	commit, err := os.ReadFile(filepath.Join(folder, "commit"))
	Expect(err).NotTo(HaveOccurred())
	source := GinkgoT().TempDir()
	run(ctx, root, "sh", "-c", "git archive "+strings.TrimSpace(string(commit))+" | tar -x -C "+source)
	return made(ctx, filepath.Join(folder, "bundle"), build(ctx, source))
}

// next is the release after one, of the same content but for the manager.
func next(ctx context.Context, r release, from, to, manager string) release {
	GinkgoHelper()
	folder := GinkgoT().TempDir()
	Expect(os.CopyFS(folder, os.DirFS(r.bundle))).To(Succeed())
	files, err := filepath.Glob(filepath.Join(folder, "manifests", "*.clusterserviceversion.yaml"))
	Expect(err).NotTo(HaveOccurred())
	Expect(files).To(HaveLen(1))
	csvs, err := olm.CSVs(r.bundle)
	Expect(err).NotTo(HaveOccurred())
	content, err := os.ReadFile(files[0])
	Expect(err).NotTo(HaveOccurred())
	text := strings.ReplaceAll(string(content), csvs[0].Spec.Replaces, "REPLACED")
	text = strings.NewReplacer("REPLACED", r.name, from, to).Replace(text)
	Expect(os.WriteFile(files[0], []byte(text), 0o600)).To(Succeed())
	return made(ctx, folder, manager)
}

// made gives the release whose image the manager is.
func made(ctx context.Context, bundle, manager string) release {
	GinkgoHelper()
	csvs, err := olm.CSVs(bundle)
	Expect(err).NotTo(HaveOccurred())
	root, err := cluster.Root()
	Expect(err).NotTo(HaveOccurred())
	run(ctx, root, "go", "run", "./hack/cluster", "image", "--name", csvs[0].Annotations["containerImage"], "--binary", manager)
	return release{bundle, csvs[0].Name}
}

// build the manager from its source.
func build(ctx context.Context, source string) string {
	GinkgoHelper()
	manager := filepath.Join(GinkgoT().TempDir(), "manager")
	run(ctx, source, "env", "CGO_ENABLED=0", "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", manager, ".")
	return manager
}

// broken is a manager that ends at once.
func broken() string {
	GinkgoHelper()
	program, err := exec.LookPath("crane") // which knows none of a manager's flags
	Expect(err).NotTo(HaveOccurred())
	content, err := os.ReadFile(program)
	Expect(err).NotTo(HaveOccurred())
	manager := filepath.Join(GinkgoT().TempDir(), "manager")
	Expect(os.WriteFile(manager, content, 0o700)).To(Succeed()) //nolint:gosec // a program
	return manager
}

func run(ctx context.Context, folder, name string, args ...string) {
	GinkgoHelper()
	command := exec.CommandContext(ctx, name, args...)
	command.Dir = folder
	said, err := command.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s", said)
}

// offer the releases in a catalog, the oldest first, as a user subscribes to it.
func offer(ctx context.Context, releases ...release) {
	GinkgoHelper()
	bundles := make([]string, 0, len(releases))
	for _, r := range releases {
		bundles = append(bundles, r.bundle)
	}
	catalog, err := olm.Publish(ctx, images, bundles...)
	Expect(err).NotTo(HaveOccurred())
	apply(ctx, olm.Source(catalog))
	Eventually(olm.Served).WithContext(ctx).WithArguments(k8s, catalog).Should(Succeed())
	apply(ctx, olm.Subscription)
}

func apply(ctx context.Context, manifests string) {
	GinkgoHelper()
	file := filepath.Join(GinkgoT().TempDir(), "manifests.yaml")
	Expect(os.WriteFile(file, []byte(manifests), 0o600)).To(Succeed())
	_, err := cluster.Kubectl(ctx, "apply", "--server-side", "--force-conflicts", "--filename", file)
	Expect(err).NotTo(HaveOccurred())
}
