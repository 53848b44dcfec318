package olm

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/olm"
)

// loaded is a release whose image is where the cluster finds it, and its manager.
func loaded(ctx context.Context, of func(root string) (olm.Release, error)) (r olm.Release, manager string) {
	GinkgoHelper()
	root, err := cluster.Root()
	Expect(err).NotTo(HaveOccurred())
	r, err = of(root)
	Expect(err).NotTo(HaveOccurred())
	manager, err = r.Build(ctx, root, GinkgoT().TempDir())
	Expect(err).NotTo(HaveOccurred())
	Expect(r.Load(ctx, root, manager)).To(Succeed())
	return r, manager
}

// next is the release after one, of the same content but for the manager.
func next(ctx context.Context, r olm.Release, manager string) olm.Release {
	GinkgoHelper()
	root, err := cluster.Root()
	Expect(err).NotTo(HaveOccurred())
	folder := GinkgoT().TempDir()
	Expect(os.CopyFS(folder, os.DirFS(r.Bundle))).To(Succeed())
	files, err := filepath.Glob(filepath.Join(folder, "manifests", "*.clusterserviceversion.yaml"))
	Expect(err).NotTo(HaveOccurred())
	Expect(files).To(HaveLen(1))
	content, err := os.ReadFile(files[0])
	Expect(err).NotTo(HaveOccurred())
	from, err := version.ParseSemantic(strings.TrimPrefix(r.Name, olm.Package+"."))
	Expect(err).NotTo(HaveOccurred())
	text := strings.ReplaceAll(string(content), cmp.Or(r.Replaces, "REPLACED"), "REPLACED")
	if r.Replaces == "" {
		text = strings.Replace(text, "\nspec:\n", "\nspec:\n  replaces: REPLACED\n", 1)
	}
	text = strings.NewReplacer("REPLACED", r.Name, from.String(), from.WithMinor(from.Minor()+1).String()).Replace(text)
	Expect(os.WriteFile(files[0], []byte(text), 0o600)).To(Succeed())
	after, err := olm.ReleaseOf(folder)
	Expect(err).NotTo(HaveOccurred())
	Expect(after.Load(ctx, root, manager)).To(Succeed())
	return after
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

// offer the releases in a catalog, the oldest first and after those that it replaces, as a user subscribes to it.
func offer(ctx context.Context, releases ...olm.Release) {
	GinkgoHelper()
	root, err := cluster.Root()
	Expect(err).NotTo(HaveOccurred())
	all, err := olm.Bundles(root)
	Expect(err).NotTo(HaveOccurred())
	first := slices.Index(all, releases[0].Bundle)
	Expect(first).To(BeNumerically(">=", 0), "%s is not kept", releases[0].Name)
	bundles := slices.Clone(all[:first])
	for _, r := range releases {
		bundles = append(bundles, r.Bundle)
	}
	catalog, err := olm.Publish(ctx, images, bundles...)
	Expect(err).NotTo(HaveOccurred())
	Expect(cluster.Apply(ctx, olm.Source(catalog))).To(Succeed())
	Eventually(olm.Served).WithContext(ctx).WithArguments(k8s, catalog).Should(Succeed())
	Expect(cluster.Apply(ctx, olm.Subscription)).To(Succeed())
}
