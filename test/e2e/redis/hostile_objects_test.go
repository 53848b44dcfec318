package redis

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/hostile"
	"github.com/mainstay-operator/mainstay-operator/test/releases"
)

const (
	// costly takes resource.ParseQuantity hours. No Go value can have it.
	costly = "1e-2000000000"
	// costlyKeyBits make a private key of 20 KB, which lacks the CRT values: Go computes them, for minutes.
	costlyKeyBits = 40_000
	// largeSecrets are of 1 MiB, the most that the API server allows.
	largeSecrets = 150
	writers      = 4 // at once
	attackLabel  = "example.org/attack"
	// verifierImage is Redis', and replaces the files of a backup that it verifies.
	verifierImage = "example.org/hostile-verifier:1"
)

// costlyKeyUsers are the objects whose certificate is in the Secret with the costly key, by their kinds.
var costlyKeyUsers = map[string]string{"Redis": "keys", "Memcached": "cache", "EtcdCluster": "etcd"}

// costlyObject is an EasyService as a user writes it.
func (t *tenant) costlyObject(name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"image": "docker.io/library/nginx:1.26", "security": "Restricted", "resources": map[string]any{"limits": map[string]any{"cpu": costly}}}}}
	obj.SetGroupVersionKind(appv1.GroupVersion.WithKind("EasyService"))
	obj.SetNamespace(t.namespace)
	obj.SetName(name)
	return obj
}

// storeCostlyQuantity while the kind is served as the first release did, which had no rule against it.
func (t *tenant) storeCostlyQuantity(ctx context.Context) {
	GinkgoHelper()
	Expect(t.tryCostlyQuantity(ctx)).To(Succeed())
	root, err := cluster.Root()
	Expect(err).NotTo(HaveOccurred())
	first, err := releases.ReadObject(filepath.Join(root, "test/olm/v0.1.0/bundle/manifests/app.mainstay-operator.io_easyservices.yaml"))
	Expect(err).NotTo(HaveOccurred())
	present := &unstructured.Unstructured{}
	present.SetGroupVersionKind(first.GroupVersionKind())
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(first), present)).To(Succeed())
	DeferCleanup(serve, present)
	serve(ctx, first)
	Eventually(func() error { return t.may.Create(ctx, t.costlyObject("stored")) }).WithContext(ctx).Should(Succeed())
	serve(ctx, present)
	Eventually(t.tryCostlyQuantity).WithContext(ctx).Should(Succeed())
}

// serve a kind as this definition says.
func serve(ctx context.Context, definition *unstructured.Unstructured) {
	GinkgoHelper()
	Eventually(func() error {
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(definition.GroupVersionKind())
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(definition), live); err != nil {
			return err
		}
		live.Object["spec"].(map[string]any)["versions"] = definition.Object["spec"].(map[string]any)["versions"]
		return k8s.Update(ctx, live)
	}).WithContext(ctx).Should(Succeed())
}

// tryCostlyQuantity is nil if the API server refuses it, by its rule.
func (t *tenant) tryCostlyQuantity(ctx context.Context) error {
	err := t.may.Create(ctx, t.costlyObject("refused"), client.DryRunAll)
	if err == nil || !strings.Contains(err.Error(), "spec.resources.limits") {
		return fmt.Errorf("a quantity of %s is not refused by a rule: %w", costly, err)
	}
	t.refused++
	return nil
}

// touchCostlyQuantity changes the object that has it, so that it is reconciled.
func (t *tenant) touchCostlyQuantity(ctx context.Context) error {
	return t.may.Patch(ctx, t.costlyObject("stored"), client.RawPatch(types.MergePatchType,
		fmt.Appendf(nil, `{"spec":{"image":"docker.io/library/nginx:%d"}}`, t.rounds)))
}

// useCostlyKey for the certificates of every kind that has some.
func (t *tenant) useCostlyKey(ctx context.Context) {
	GinkgoHelper()
	data := authority.New("tenant").Issue("keys")
	data[corev1.TLSPrivateKeyKey] = costlyKey()
	Expect(t.may.Create(ctx, t.secret("key", 0, data))).To(Succeed())
	cache := builders.Memcached(costlyKeyUsers["Memcached"]).Memory("16Mi").TLS("key", "").Build()
	for _, obj := range []client.Object{
		builders.Redis(costlyKeyUsers["Redis"]).TLS("key", "").Build(), cache,
		builders.EtcdCluster(costlyKeyUsers["EtcdCluster"]).TLS("key", "").Build(),
	} {
		obj.SetNamespace(t.namespace)
		Expect(t.may.Create(ctx, obj)).To(Succeed())
	}
}

func costlyKey() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY",
		Bytes: hostile.PKCS1(hostile.RSANumbers(costlyKeyBits, hostile.WithoutCRT)...)})
}

// changeCostlyKey, so that it is judged again: a line more before it makes another Secret of it.
func (t *tenant) changeCostlyKey(ctx context.Context) error {
	secret := &corev1.Secret{}
	if err := t.may.Get(ctx, client.ObjectKey{Namespace: t.namespace, Name: "key"}, secret); err != nil {
		return err
	}
	secret.Data[corev1.TLSPrivateKeyKey] = append([]byte("\n"), secret.Data[corev1.TLSPrivateKeyKey]...)
	return t.may.Update(ctx, secret)
}

// secret of the tenant's, of that many bytes besides its data.
func (t *tenant) secret(name string, size int, data map[string][]byte) *corev1.Secret {
	made := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: name}, Data: data}
	if size > 0 {
		made.Data = map[string][]byte{"a": make([]byte, size)}
	}
	return made
}

// isForged reports whether the large Secret of that number says that the tenant's Redis controls it.
func isForged(n int) bool { return n%3 == 0 }

func largeName(n int) string { return fmt.Sprint("large-", n) }

// fillCaches with large Secrets that bear the operator's label.
func (t *tenant) fillCaches(ctx context.Context) {
	GinkgoHelper()
	Expect(t.may.Get(ctx, client.ObjectKeyFromObject(t.source), t.source)).To(Succeed())
	var all sync.WaitGroup
	failures := make([]error, writers)
	for writer := range writers {
		all.Go(func() {
			for n := writer; n < largeSecrets; n += writers {
				failures[writer] = errors.Join(failures[writer], t.may.Create(ctx, t.largeSecret(n)))
			}
		})
	}
	all.Wait()
	Expect(errors.Join(failures...)).To(Succeed())
}

func (t *tenant) largeSecret(n int) *corev1.Secret {
	made := t.secret(largeName(n), 1<<20, nil)
	made.Labels = map[string]string{"app.kubernetes.io/managed-by": "mainstay-operator", attackLabel: "large"}
	if isForged(n) {
		made.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(t.source, cachev1alpha1.GroupVersion.WithKind("Redis"))}
	}
	return made
}

// changeLargeSecret changes one of them, which all who watch Secrets are sent.
func (t *tenant) changeLargeSecret(ctx context.Context) error {
	n := t.rounds % largeSecrets
	if isForged(n) { // which the operator has deleted, as a child that its owner does not need
		return client.IgnoreAlreadyExists(t.may.Create(ctx, t.largeSecret(n)))
	}
	return t.may.Patch(ctx, t.secret(largeName(n), 0, nil), client.RawPatch(types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"annotations":{"example.org/round":"%d"}}}`, t.rounds)))
}

// startHostileBackup makes a Redis whose image replaces what the containers of a backup share.
func (t *tenant) startHostileBackup(ctx context.Context) {
	GinkgoHelper()
	Expect(loadImage(ctx, verifierImage, "./test/hostile/verifier", "--base", "docker.io/library/redis:8.0")).To(Succeed())
	t.source = builders.Redis("source").Size(1).Image(verifierImage).Build()
	t.source.Namespace = t.namespace
	Expect(t.may.Create(ctx, t.source)).To(Succeed())
	Expect(t.may.Create(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: "backups"},
		Spec: corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("64Mi")}}}})).To(Succeed())
}

// backUp that Redis while masters are killed.
func (t *tenant) backUp(ctx context.Context) {
	GinkgoHelper()
	Expect(t.may.Create(ctx, builders.RedisBackup("nightly", "source", builders.Volume("backups")).In(t.namespace).Build())).To(Succeed())
}

// readConditions of an object whose fields no Go value may be able to have.
func readConditions(ctx context.Context, kind string, key client.ObjectKey) ([]metav1.Condition, error) {
	version := map[string]schema.GroupVersion{"EasyService": appv1.GroupVersion, "EtcdCluster": databasev1alpha1.GroupVersion}
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(cachev1alpha1.GroupVersion.WithKind(kind))
	if v, other := version[kind]; other {
		obj.SetGroupVersionKind(v.WithKind(kind))
	}
	if err := k8s.Get(ctx, key, obj); err != nil {
		return nil, err
	}
	var read struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	partial := map[string]any{"status": obj.Object["status"]}
	if obj.Object["status"] == nil {
		return nil, errors.New("it has no status")
	}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(partial, &read)
	return read.Status.Conditions, err
}
