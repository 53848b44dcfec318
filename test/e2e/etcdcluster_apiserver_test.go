package e2e

import (
	"context"
	"crypto/x509"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

var _ = Describe("EtcdCluster", func() {
	const promise = "keeps the objects of a kube-apiserver through a kill, a lost disk, two minor upgrades and a restore"
	It(promise, Label(faults, long), longest, func(ctx SpecContext) {
		Expect(cluster.Provide(ctx, "etcd-images")).To(Succeed())
		claim(ctx, "backups")
		e := builders.EtcdCluster("store").Version("3.5").Storage("128Mi").Build()
		create(ctx, e)
		eventuallyReady(ctx, e)
		server, config := startAPIServer(ctx, e)
		clients, err := kubernetes.NewForConfig(config)
		Expect(err).NotTo(HaveOccurred())
		watched := watchConfigMaps(ctx, clients)
		w := writeConfigMaps(ctx, clients)
		w.continues(ctx)
		watched.catchesUp(ctx, w)

		By("killing the leader")
		Eventually(func(g Gomega) {
			refresh(ctx, e)
			g.Expect(e.Status.Leader).NotTo(BeEmpty())
		}).WithContext(ctx).Should(Succeed())
		leader := podNamed(ctx, e.Status.Leader)
		Expect(fault.Kill(leader.UID, "etcd")).To(Succeed())
		Eventually(func(g Gomega) {
			again := podNamed(ctx, leader.Name).Status.ContainerStatuses[0]
			g.Expect(again.RestartCount).To(BeNumerically(">", leader.Status.ContainerStatuses[0].RestartCount))
			g.Expect(again.Ready).To(BeTrue())
		}).WithContext(ctx).Should(Succeed())
		eventuallyReady(ctx, e)
		w.continues(ctx)
		watched.catchesUp(ctx, w)

		By("taking a member's disk away")
		lost := e.Status.Members[2]
		Expect(fault.WipeDisk(podNamed(ctx, lost.Name).UID, "etcd", etcdData)).To(Succeed())
		Eventually(func(g Gomega) {
			refresh(ctx, e)
			g.Expect(e.Status.ReadyReplicas).To(BeEquivalentTo(3))
			g.Expect(e.Status.Members[2].ID).NotTo(Equal(lost.ID))
		}).WithContext(ctx).Should(Succeed())
		w.continues(ctx)
		watched.catchesUp(ctx, w)

		By("raising the version from 3.5 to 3.7 by one edit")
		Expect(e.Status.ClusterVersion).To(Equal("3.5"))
		edit(ctx, e, func(e *databasev1alpha1.EtcdCluster) { e.Spec.Version = "3.7" })
		Eventually(func(g Gomega) {
			refresh(ctx, e)
			g.Expect(e.Status.Version).To(HavePrefix("3.7."))
			g.Expect(e.Status.ClusterVersion).To(Equal("3.7"))
		}).WithContext(ctx).Should(Succeed())
		eventuallyReady(ctx, e)
		w.continues(ctx)
		watched.catchesUp(ctx, w)

		w.stop()
		Expect(stored(ctx, clients)).To(Equal(w.acked), "%d writes were acknowledged", w.count.Load())
		Eventually(watched.all).WithContext(ctx).Should(Equal(w.acked))

		By("restoring")
		creates := func(name string) {
			GinkgoHelper()
			Eventually(func(ctx context.Context) error {
				_, err := w.clients.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
				return err
			}).WithContext(ctx).Should(Succeed())
		}
		from := backedUp(ctx, "once", e.Name, builders.Volume("backups"))
		creates("after")
		Eventually(watched.all).WithContext(ctx).Should(HaveKey("after"))
		r := etcdRestore("back", e.Name, from)
		create(ctx, r)
		eventually(ctx, r, commonv1.ConditionComplete, metav1.ConditionTrue)
		eventuallyReady(ctx, e)
		Eventually(watched.names).WithContext(ctx).Should(ConsistOf(slices.Collect(maps.Keys(w.acked))))
		creates("later")
		Eventually(watched.all).WithContext(ctx).Should(HaveKey("later"))
		refresh(ctx, server)
		Expect(server.Status.ContainerStatuses[0].State.Running).NotTo(BeNil(), "the kube-apiserver has ended")
	})
})

// podNamed gives a pod of the spec's namespace.
func podNamed(ctx context.Context, name string) *corev1.Pod {
	GinkgoHelper()
	pod := &corev1.Pod{}
	Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, pod)).To(Succeed())
	return pod
}

// startAPIServer runs a kube-apiserver in a pod, which knows all members by name and is never started again. It gives an
// administrator's way to it.
func startAPIServer(ctx context.Context, e *databasev1alpha1.EtcdCluster) (*corev1.Pod, *rest.Config) {
	GinkgoHelper()
	const host, port = "kube-apiserver", 6443
	image, err := cluster.Pack(ctx, "kube-apiserver")
	Expect(err).NotTo(HaveOccurred())
	ours := authority.New("a second control plane")
	files := ours.Issue(host)
	create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: host}, Data: files})

	var members []string
	for _, m := range e.Status.Members {
		members = append(members, fmt.Sprintf("http://%s.%s-headless.%s.svc:2379", m.Name, e.Name, e.Namespace))
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: host}, Spec: corev1.PodSpec{
		RestartPolicy:                 corev1.RestartPolicyNever,
		AutomountServiceAccountToken:  ptr.To(false),
		TerminationGracePeriodSeconds: ptr.To[int64](1), // at the end its etcd goes at the same time
		Volumes: []corev1.Volume{{Name: "files", VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: host}}}},
		Containers: []corev1.Container{{
			Name: host, Image: image,
			Args: []string{
				"--etcd-servers=" + strings.Join(members, ","),
				fmt.Sprintf("--secure-port=%d", port),
				"--tls-cert-file=/files/tls.crt",
				"--tls-private-key-file=/files/tls.key",
				"--client-ca-file=/files/ca.crt",
				"--authorization-mode=RBAC",
				"--service-account-issuer=https://" + host,
				"--service-account-key-file=/files/tls.crt",
				"--service-account-signing-key-file=/files/tls.key",
				"--service-cluster-ip-range=10.0.0.0/24",
			},
			VolumeMounts: []corev1.VolumeMount{{Name: "files", MountPath: "/files", ReadOnly: true}},
			ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, TimeoutSeconds: 5, ProbeHandler: corev1.ProbeHandler{
				HTTPGet: &corev1.HTTPGetAction{Path: "/readyz", Port: intstr.FromInt32(port), Scheme: corev1.URISchemeHTTPS}}},
		}},
	}}
	create(ctx, pod)
	Eventually(func(g Gomega) {
		refresh(ctx, pod)
		g.Expect(pod.Status.Phase).NotTo(Equal(corev1.PodFailed), "%+v", pod.Status.ContainerStatuses)
		g.Expect(pod.Status.ContainerStatuses).To(ContainElement(HaveField("Ready", true)))
	}).WithContext(ctx).Should(Succeed())

	admin := ours.Issue("admin", func(c *x509.Certificate) { c.Subject.Organization = []string{"system:masters"} })
	return pod, &rest.Config{
		Host: fmt.Sprintf("https://%s:%d", pod.Status.PodIP, port),
		QPS:  40, Burst: 1, // a steady load that leaves the machine to others
		TLSClientConfig: rest.TLSClientConfig{
			ServerName: host, CAData: files["ca.crt"], CertData: admin[corev1.TLSCertKey], KeyData: admin[corev1.TLSPrivateKeyKey]},
	}
}

// version is what one ConfigMap is at some time.
type version struct {
	ResourceVersion string
	Number          string // of the write
}

func versionOf(cm *corev1.ConfigMap) version { return version{cm.ResourceVersion, cm.Data["number"]} }

// stored gives all ConfigMaps that the kube-apiserver has, by name.
func stored(ctx context.Context, clients kubernetes.Interface) map[string]version {
	GinkgoHelper()
	list, err := clients.CoreV1().ConfigMaps(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	all := map[string]version{}
	for i := range list.Items {
		all[list.Items[i].Name] = versionOf(&list.Items[i])
	}
	return all
}

// configMapWriter writes ConfigMaps in turn, and knows what each is by the last write that was acknowledged.
type configMapWriter struct {
	clients typedcorev1.ConfigMapInterface
	count   atomic.Int64 // of acknowledged writes
	acked   map[string]version
	stop    func()
}

// writeConfigMaps starts to write, until stop is called or the spec ends. A write of which it is not known whether it took place is
// tried again until it is acknowledged: by then, no earlier one can arrive any more.
func writeConfigMaps(ctx context.Context, clients kubernetes.Interface) *configMapWriter {
	const configMaps = 20
	w := &configMapWriter{clients: clients.CoreV1().ConfigMaps(metav1.NamespaceDefault), acked: map[string]version{}}
	ending := make(chan struct{})
	var writing sync.WaitGroup
	w.stop = sync.OnceFunc(func() { close(ending); writing.Wait() })
	DeferCleanup(func() { w.stop() })
	writing.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			select {
			case <-ending:
				return
			default:
			}
			name := fmt.Sprintf("written-%02d", i%configMaps)
			for ctx.Err() == nil {
				if now, err := w.write(ctx, name, strconv.Itoa(i)); err == nil {
					w.acked[name] = now
					w.count.Add(1)
					break
				}
			}
		}
	})
	return w
}

// write makes the ConfigMap, or updates it as it was just read.
func (c *configMapWriter) write(ctx context.Context, name, number string) (version, error) {
	ctx, done := context.WithTimeout(ctx, 5*time.Second)
	defer done()
	data := map[string]string{"number": number}
	cm, err := c.clients.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		cm, err = c.clients.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}, metav1.CreateOptions{})
	case err == nil:
		cm.Data = data
		cm, err = c.clients.Update(ctx, cm, metav1.UpdateOptions{})
	}
	if err != nil {
		return version{}, err
	}
	return versionOf(cm), nil
}

// continues waits until further writes are acknowledged.
func (c *configMapWriter) continues(ctx context.Context) {
	GinkgoHelper()
	Eventually(c.count.Load).WithContext(ctx).Should(BeNumerically(">", c.count.Load()+40))
}

// configMapWatch is an informer that is never started again.
type configMapWatch struct {
	informer cache.SharedIndexInformer
}

// watchConfigMaps starts to watch what writeConfigMaps writes, until the spec ends.
func watchConfigMaps(ctx context.Context, clients kubernetes.Interface) configMapWatch {
	GinkgoHelper()
	informer := coreinformers.NewConfigMapInformer(clients, metav1.NamespaceDefault, 0, nil)
	var watching sync.WaitGroup
	watching.Go(func() { informer.RunWithContext(ctx) })
	DeferCleanup(watching.Wait)
	Expect(cache.WaitForCacheSync(ctx.Done(), informer.HasSynced)).To(BeTrue())
	return configMapWatch{informer}
}

// all gives what it has of each ConfigMap, by name.
func (c configMapWatch) all() map[string]version {
	all := map[string]version{}
	for _, obj := range c.informer.GetStore().List() {
		cm := obj.(*corev1.ConfigMap)
		all[cm.Name] = versionOf(cm)
	}
	return all
}

// names of what it has.
func (c configMapWatch) names() []string { return slices.Collect(maps.Keys(c.all())) }

// catchesUp waits until it has seen a write that was not acknowledged yet.
func (c configMapWatch) catchesUp(ctx context.Context, w *configMapWriter) {
	GinkgoHelper()
	written := w.count.Load()
	Eventually(func() (newest int64) {
		for seen := range maps.Values(c.all()) {
			number, _ := strconv.ParseInt(seen.Number, 10, 64)
			newest = max(newest, number)
		}
		return newest
	}).WithContext(ctx).Should(BeNumerically(">", written), "the watch has ended")
}
