package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/tests/v3/robustness/client"
	"go.etcd.io/etcd/tests/v3/robustness/identity"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	kube "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/test/cluster"
)

const (
	bareName = "bare"
	// bareSize is the number of its members.
	bareSize = 3
)

// bare is an etcd without an operator: a StatefulSet whose members know each other from the start. One history at a time
// breaks it.
type bare struct {
	*target
	mu      sync.Mutex
	clients *clients
}

// newBare makes one, and clients use it as they do an EtcdCluster, until the test has ended.
func newBare(t *testing.T) *bare {
	t.Helper()
	b := &bare{target: &target{namespace: newNamespace(t), name: bareName}}
	t.Cleanup(func() {
		if err := b.close(); err != nil {
			t.Error(err)
		}
	})
	if err := b.create(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.heals(t.Context(), bareSize, atOnce, 0); err != nil {
		t.Fatal(err)
	}
	clientSet := client.NewSet(identity.NewIDProvider(), time.Now())
	made, err := newClients(clientSet, b.endpoints(bareSize), b.serviceEndpoint())
	if err != nil {
		t.Fatal(err)
	}
	b.clients = made
	t.Cleanup(made.close)
	if err := made.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

// inject breaks it as the fault does.
func (b *bare) inject(ctx context.Context, f faultRow) (run BareRun, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	members, _, err := b.heals(ctx, bareSize, atOnce, 0)
	if err != nil {
		return run, err
	}
	b.clients.forgetGaps()
	struck := time.Now()
	since, err := f.happen(ctx, &scene{target: b.target, size: bareSize, members: members})
	if err != nil {
		return run, fmt.Errorf("the bare etcd: %w", err)
	}
	err = b.clients.keepWriting(ctx)
	return BareRun{Gap: b.clients.all.gap(), ServiceGap: b.clients.service.gap(), Healthy: max(0, since.Sub(struck))}, err
}

// defaultImage is what the operator makes a new EtcdCluster of.
func defaultImage(ctx context.Context) (string, error) {
	var manager appsv1.Deployment
	if err := k8s.Get(ctx, kube.ObjectKey{Namespace: cluster.OperatorNamespace, Name: cluster.OperatorDeployment}, &manager); err != nil {
		return "", err
	}
	newest := corev1.EnvVar{}
	for _, v := range manager.Spec.Template.Spec.Containers[0].Env {
		if strings.HasPrefix(v.Name, "RELATED_IMAGE_ETCD_") && v.Name > newest.Name {
			newest = v
		}
	}
	if newest.Value == "" {
		return "", errors.New("the operator names no image of etcd")
	}
	return newest.Value, nil
}

func (b *bare) create(ctx context.Context) error {
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: b.namespace, Name: name, Labels: map[string]string{"app.kubernetes.io/instance": bareName}}
	}
	service := func(name, ip string) *corev1.Service {
		return &corev1.Service{ObjectMeta: meta(name), Spec: corev1.ServiceSpec{
			ClusterIP: ip, PublishNotReadyAddresses: ip != "", Selector: meta(name).Labels,
			Ports: []corev1.ServicePort{{Name: "client", Port: clientPort}}}}
	}
	for _, s := range []*corev1.Service{service(bareName, ""), service(bareName+"-headless", corev1.ClusterIPNone)} {
		if err := k8s.Create(ctx, s); err != nil {
			return err
		}
	}
	image, err := defaultImage(ctx)
	if err != nil {
		return err
	}
	size := int32(bareSize)
	return k8s.Create(ctx, &appsv1.StatefulSet{ObjectMeta: meta(bareName), Spec: appsv1.StatefulSetSpec{
		Replicas: &size, ServiceName: bareName + "-headless", PodManagementPolicy: appsv1.ParallelPodManagement,
		Selector: &metav1.LabelSelector{MatchLabels: meta(bareName).Labels},
		PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
			WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType, WhenScaled: appsv1.DeletePersistentVolumeClaimRetentionPolicyType},
		VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(volumeSize)}}}}},
		Template: corev1.PodTemplateSpec{ObjectMeta: meta(""), Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: program, Image: image, Command: b.command(),
			Env: []corev1.EnvVar{{Name: "POD_NAME",
				ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}},
			VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: dataFolder}},
			ReadinessProbe: &corev1.Probe{PeriodSeconds: 2, TimeoutSeconds: 5, FailureThreshold: 2, ProbeHandler: corev1.ProbeHandler{
				HTTPGet: &corev1.HTTPGetAction{Path: "/readyz", Port: intstr.FromInt32(clientPort)}}},
		}}}},
	}})
}

// command of a member, with etcd's own defaults.
func (b *bare) command() []string {
	peer := func(name string) string {
		return fmt.Sprintf("http://%s.%s-headless.%s.svc:2380", name, bareName, b.namespace)
	}
	var all []string
	for i := range bareSize {
		name := fmt.Sprintf("%s-%d", bareName, i)
		all = append(all, name+"="+peer(name))
	}
	return []string{"/usr/local/bin/etcd", "--name=$(POD_NAME)", "--data-dir=" + dataFolder + "/data",
		fmt.Sprintf("--listen-client-urls=http://0.0.0.0:%d", clientPort),
		fmt.Sprintf("--advertise-client-urls=http://$(POD_NAME).%s-headless.%s.svc:%d", bareName, b.namespace, clientPort),
		"--listen-peer-urls=http://0.0.0.0:2380", "--initial-advertise-peer-urls=" + peer("$(POD_NAME)"),
		"--initial-cluster=" + strings.Join(all, ","), "--initial-cluster-state=new"}
}
