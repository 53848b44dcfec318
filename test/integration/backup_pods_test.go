package integration

import (
	"context"
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
)

// runnerTask is what a container of a backup's pod is passed, without what no spec reads.
type runnerTask struct {
	Kind, Item string
	Leftovers  []string
	Verify     bool
	Source     *struct{ Endpoints []string }
}

// runnerResult is what it leaves as its termination message.
type runnerResult struct {
	Error     string                `json:"error,omitempty"`
	Permanent bool                  `json:"permanent,omitempty"`
	Item      *commonv1.BackupItem  `json:"item,omitempty"`
	Items     []commonv1.BackupItem `json:"items,omitempty"`
}

// available is what a status says of servers that serve.
var available = []metav1.Condition{{Type: commonv1.ConditionAvailable, Status: metav1.ConditionTrue, Reason: "Test",
	LastTransitionTime: metav1.Unix(1, 0)}}

// standing makes an object that its own reconciler leaves as it is, as it cannot read one field: there are no servers in this suite.
func standing(ctx context.Context, obj client.Object) {
	GinkgoHelper()
	fields := map[string]any{"spec": map[string]any{"resources": map[string]any{"limits": map[string]any{"example.org/gpu": "1e1.5"}}}}
	made := &unstructured.Unstructured{Object: fields}
	gvk, err := admin.GroupVersionKindFor(obj)
	Expect(err).NotTo(HaveOccurred())
	made.SetGroupVersionKind(gvk)
	made.SetNamespace(obj.GetNamespace())
	made.SetName(obj.GetName())
	Expect(admin.Create(ctx, made)).To(Succeed())
	Expect(admin.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
}

// standingEtcd makes EtcdCluster data, of which its status says that it serves.
func standingEtcd(ctx context.Context, namespace string) {
	GinkgoHelper()
	e := &databasev1alpha1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "data"}}
	standing(ctx, e)
	Eventually(func() error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(e), e); err != nil {
			return err
		}
		e.Status.TargetImage, e.Status.Conditions = "example.org/etcd:1", available
		e.Status.Membership = &databasev1alpha1.EtcdMembership{Token: "t", ClusterID: "c",
			Members: []databasev1alpha1.EtcdRecordedMember{{Name: "data-0", DataID: "d"}}}
		return admin.Status().Update(ctx, e)
	}).Should(Succeed())
}

// standingRedis makes Redis cart, of which its status says that it serves.
func standingRedis(ctx context.Context, namespace string) {
	GinkgoHelper()
	r := &cachev1alpha1.Redis{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cart"}}
	standing(ctx, r)
	labels := map[string]string{"app.kubernetes.io/name": "redis", "app.kubernetes.io/instance": "cart",
		"app.kubernetes.io/managed-by": "mainstay-operator"}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cart", Labels: labels,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(r, cachev1alpha1.GroupVersion.WithKind("Redis"))}}}
	set.Spec.Replicas, set.Spec.Selector = ptr.To[int32](0), &metav1.LabelSelector{MatchLabels: labels}
	set.Spec.Template.Labels = labels
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "redis", Image: "example.org/redis:1"}}
	Expect(admin.Create(ctx, set)).To(Succeed())
	Eventually(func() error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(r), r); err != nil {
			return err
		}
		r.Status.Conditions, r.Status.Nodes = available, []cachev1alpha1.RedisNode{{Name: "cart-0", State: cachev1alpha1.RedisMaster}}
		r.Status.Replication = &cachev1alpha1.RedisReplication{ReplID: "history", SyncSet: []cachev1alpha1.RedisProcess{}}
		return admin.Status().Update(ctx, r)
	}).Should(Succeed())
}

// podsOf are the pods of an object.
func podsOf(ctx context.Context, obj client.Object) ([]corev1.Pod, error) {
	var all corev1.PodList
	if err := admin.List(ctx, &all, client.InNamespace(obj.GetNamespace())); err != nil {
		return nil, err
	}
	var list []corev1.Pod
	for _, p := range all.Items {
		if metav1.IsControlledBy(&p, obj) {
			list = append(list, p)
		}
	}
	return list, nil
}

// startedPod waits for the one pod of an object, which the fake kubelet has started.
func startedPod(ctx context.Context, obj client.Object) *corev1.Pod {
	GinkgoHelper()
	var pod corev1.Pod
	Eventually(func(g Gomega) {
		pods, err := podsOf(ctx, obj)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(pods).To(HaveLen(1))
		g.Expect(pods[0].DeletionTimestamp).To(BeNil())
		g.Expect(pods[0].Status.Phase).To(Equal(corev1.PodRunning))
		pod = pods[0]
	}).Should(Succeed())
	return &pod
}

// end has a container of the pod end, all init containers before it having ended well.
func end(ctx context.Context, pod *corev1.Pod, container string, code int32, result runnerResult) {
	GinkgoHelper()
	message, err := json.Marshal(result)
	Expect(err).NotTo(HaveOccurred())
	ended := func(name string, code int32, message string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: code, Reason: "Test", Message: message, StartedAt: metav1.Now(), FinishedAt: metav1.Now()}}}
	}
	Eventually(func() error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
			return err
		}
		pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses = nil, nil
		for _, c := range pod.Spec.InitContainers {
			if c.Name == container {
				break
			}
			left := `{}`
			if c.Name != "install" { // all of them report the same backup
				left = string(message)
			}
			pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, ended(c.Name, 0, left))
		}
		if container == "finish" {
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{ended(container, code, string(message))}
		} else {
			pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, ended(container, code, string(message)))
		}
		pod.Status.Phase = corev1.PodFailed
		if code == 0 {
			pod.Status.Phase = corev1.PodSucceeded
		}
		return admin.Status().Update(ctx, pod)
	}).Should(Succeed())
}

// finish has all containers of the pod end well, with what the runner says then.
func finish(ctx context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	task := taskIn(pod, "finish")
	item := commonv1.BackupItem{Name: task.Item, Size: 7, SHA256: "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		Verified: task.Verify}
	end(ctx, pod, "finish", 0, runnerResult{Item: &item, Items: []commonv1.BackupItem{item}})
}
