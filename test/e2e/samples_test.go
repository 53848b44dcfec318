package e2e

import (
	"context"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/samples"
)

// samplesDir holds the very files that users apply, and backupsDir those that back the samples up.
var (
	samplesDir = filepath.Join(root, "config", "samples")
	backupsDir = filepath.Join(samplesDir, "backups")
)

// What holds for every kind, shown with its sample: one after the other, since each starts with what the one before has left.
var _ = Describe("Every kind", longest, Ordered, func() {
	var shared string
	var all []*unstructured.Unstructured
	former := map[types.UID]bool{}
	BeforeAll(func(ctx SpecContext) { shared = newNamespace(ctx) })
	BeforeEach(func() { namespace = shared })

	It("does nothing when what is there is applied again", func(ctx SpecContext) {
		all = applySamples(ctx)
		eventuallyArrived(ctx, all)
		withBackups := append(slices.Clone(all), applyFolder(ctx, backupsDir)...)
		eventuallyArrived(ctx, withBackups)
		Eventually(func(g Gomega) {
			before := versions(ctx, withBackups)
			applySamples(ctx)
			applyFolder(ctx, backupsDir)
			g.Expect(versions(ctx, withBackups)).To(Equal(before))
		}).WithContext(ctx).Should(Succeed())
		kubectl(ctx, "delete", "-k", backupsDir)
	})

	It("brings back a child that was deleted", func(ctx SpecContext) {
		for _, owner := range all {
			for _, child := range children(ctx, owner) {
				if !restored(owner, child) {
					continue
				}
				By("deleting " + name(child))
				Expect(k8s.Delete(ctx, &child, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
				eventuallyNew(ctx, child)
			}
		}
		eventuallyArrived(ctx, all)
	})

	It("leaves nothing behind when it is deleted, but volumes", func(ctx SpecContext) {
		for _, obj := range all {
			former[obj.GetUID()] = true
		}
		// Then the last pod is not the first of the next: it takes its grace, since no node is left to take over from it.
		kubectl(ctx, "annotate", "redis/sample-redis", cachev1alpha1.RedisSwitchover+"=sample-redis-1")
		Eventually(kubectl).WithArguments(ctx, "get", "redis/sample-redis", "-o", "jsonpath={.status.master}").Should(Equal("sample-redis-1"))
		Expect(everything(ctx)).NotTo(BeEmpty())
		kubectl(ctx, "delete", "-k", samplesDir)
		Eventually(func() []string { return names(everything(ctx)) }).WithContext(ctx).WithPolling(2 * time.Second).Should(ConsistOf(
			"PersistentVolumeClaim/data-sample-etcd-0", "PersistentVolumeClaim/data-sample-etcd-1", "PersistentVolumeClaim/data-sample-etcd-2",
			"PersistentVolumeClaim/data-sample-redis-0", "PersistentVolumeClaim/data-sample-redis-1", "PersistentVolumeClaim/data-sample-redis-2"))
	})

	It("starts afresh when it is made again under the same name", func(ctx SpecContext) {
		// The data of the former objects would be that of the next ones.
		kubectl(ctx, "delete", "persistentvolumeclaims", "--selector=app.kubernetes.io/name in (etcd, redis)")
		again := applySamples(ctx)
		eventuallyArrived(ctx, again)
		for _, obj := range again {
			Expect(former).NotTo(HaveKey(obj.GetUID()))
			for _, child := range children(ctx, obj) {
				Expect(metav1.GetControllerOfNoCopy(&child).UID).To(Equal(obj.GetUID()))
			}
		}
	})

	It("does not hold its namespace, with commands unfinished", func(ctx SpecContext) {
		long := builders.Activity("long", "sleep 600").
			With(func(s *egov1.ActivitySpec) { s.TerminationGracePeriodSeconds = ptr.To[int64](2) }).Build()
		create(ctx, long)
		applyFolder(ctx, backupsDir) // and does not wait: what runs once is on its way
		Eventually(prosta).WithArguments(ctx, long).Should(Equal(egov1.Running))
		kubectl(ctx, "delete", "namespace", namespace, "--timeout="+eventuallyTimeout.String())
	})
})

// applySamples applies config/samples as a user does, and gives its objects.
func applySamples(ctx context.Context) []*unstructured.Unstructured {
	GinkgoHelper()
	return applyFolder(ctx, samplesDir)
}

// applyFolder applies a folder of samples as a user does, and gives its objects but the claims.
func applyFolder(ctx context.Context, dir string) []*unstructured.Unstructured {
	GinkgoHelper()
	kubectl(ctx, "apply", "-k", dir)
	all, err := samples.Read(dir)
	Expect(err).NotTo(HaveOccurred())
	all = slices.DeleteFunc(all, func(obj *unstructured.Unstructured) bool { return obj.GetKind() == "PersistentVolumeClaim" })
	for _, obj := range all {
		obj.SetNamespace(namespace)
		refresh(ctx, obj)
	}
	return all
}

// eventuallyArrived waits until all objects are what their specs ask for.
func eventuallyArrived(ctx context.Context, all []*unstructured.Unstructured) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		for _, obj := range all {
			g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
			fate, words := samples.PhaseOf(obj)
			g.Expect(fate).To(Equal(samples.Ready), "%s %s: %s", obj.GetKind(), obj.GetName(), words)
		}
	}).WithContext(ctx).Should(Succeed())
}

// versions are the resource versions of objects, as they are now.
func versions(ctx context.Context, all []*unstructured.Unstructured) map[string]string {
	GinkgoHelper()
	seen := map[string]string{}
	for _, obj := range all {
		refresh(ctx, obj)
		seen[obj.GetKind()+"/"+obj.GetName()] = obj.GetResourceVersion()
	}
	return seen
}

// restored reports whether a child comes back as it was. A command's pod does
// not: it has run. Neither does what holds data: a new one would be another.
func restored(owner client.Object, child metav1.PartialObjectMetadata) bool {
	if owner.GetObjectKind().GroupVersionKind().Kind == "Activity" {
		return false
	}
	return child.Kind != "Secret" && slices.ContainsFunc(controllers.Children(), func(known client.Object) bool {
		return reflect.TypeOf(known).Elem().Name() == child.Kind
	})
}

// eventuallyNew waits until another object bears the name of one that was deleted.
func eventuallyNew(ctx context.Context, old metav1.PartialObjectMetadata) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		found := &metav1.PartialObjectMetadata{TypeMeta: old.TypeMeta}
		g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(&old), found)).To(Succeed())
		g.Expect(found.UID).NotTo(Equal(old.UID))
	}).WithContext(ctx).Should(Succeed())
}
