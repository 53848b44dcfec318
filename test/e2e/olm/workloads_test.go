package olm

import (
	"context"
	"path/filepath"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/load"
	"github.com/mainstay-operator/mainstay-operator/test/samples"
)

// newWorkloads makes the samples of the kinds that the installed release knows, waits for them and starts to use them.
func newWorkloads(ctx context.Context) *load.Workloads {
	GinkgoHelper()
	root, err := cluster.Root()
	Expect(err).NotTo(HaveOccurred())
	objects, err := samples.Read(filepath.Join(root, "config", "samples"))
	Expect(err).NotTo(HaveOccurred())
	objects = slices.DeleteFunc(objects, func(obj *unstructured.Unstructured) bool {
		_, err := k8s.RESTMapper().RESTMapping(obj.GroupVersionKind().GroupKind(), obj.GroupVersionKind().Version)
		Expect(meta.IsNoMatchError(err) || err == nil).To(BeTrue(), "%v", err)
		return err != nil
	})
	namespace := newNamespace(ctx)
	Expect(load.Create(ctx, k8s, namespace, objects)).To(Succeed())
	Eventually(load.Ready).WithContext(ctx).WithArguments(k8s, objects).Should(Succeed())
	w, err := load.Use(ctx, k8s, namespace, objects)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(w.Stop)
	return w
}
