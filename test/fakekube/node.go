package fakekube

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

const (
	// leaseSeconds is how long a lease of a node lasts, and leaseRenewal how often a kubelet renews it.
	leaseSeconds = 40
	leaseRenewal = 10 * time.Second
	// nodePods is how many pods a Node has room for.
	nodePods = 100_000
	// nodeWorkers is how many pods the simulated kubelet works on at once.
	nodeWorkers = 8
)

// firstAddress of a pod comes after this one, of 198.18.0.0/15. No network has these addresses: RFC 2544 keeps them for benchmarks.
var firstAddress = netip.MustParseAddr("198.18.0.0")

// nodeAddresses is how many there are. Former pods have gone when the first is used again.
const nodeAddresses = 1 << 17

// Node is a node of a real control plane that no machine is behind: its pods are ready at once, and gone at once.
type Node struct {
	client.Client
	object *corev1.Node
	// addresses is how many pods have got one.
	addresses atomic.Uint32
}

// StartNode adds a node of that name, and simulates its kubelet until ctx ends. Remove removes it. Only pods run there that Place has
// changed.
func StartNode(ctx context.Context, cluster *rest.Config, scheme *runtime.Scheme, name string) (*Node, error) {
	mgr, err := ctrl.NewManager(cluster, ctrl.Options{
		Scheme:     scheme,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}: {Field: fields.OneTermEqualSelector("spec.nodeName", name)},
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", name, err)
	}
	n := &Node{Client: mgr.GetClient(), object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name,
		Labels: map[string]string{corev1.LabelHostname: name}}}}
	n.object.Spec.Taints = []corev1.Taint{{Key: corev1.LabelHostname, Value: name, Effect: corev1.TaintEffectNoSchedule}}
	if err := n.register(ctx); err != nil {
		return nil, fmt.Errorf("node %s: %w", name, errors.Join(err, n.Remove(ctx)))
	}
	err = ctrl.NewControllerManagedBy(mgr).For(&corev1.Pod{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: nodeWorkers}).Complete(reconcile.Func(n.pod))
	if err == nil {
		err = mgr.Add(manager.RunnableFunc(n.renewLease))
	}
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", name, errors.Join(err, n.Remove(ctx)))
	}
	go func() { _ = mgr.Start(ctx) }() // as in Start: a test that waits for a pod times out
	return n, nil
}

// Place makes pods run on the node.
func (n *Node) Place(pods *commonv1.Scheduling) {
	pods.NodeSelector = map[string]string{corev1.LabelHostname: n.object.Name}
	pods.Tolerations = []corev1.Toleration{{Key: corev1.LabelHostname, Operator: corev1.TolerationOpExists}}
}

// Started returns how many pods the node has started.
func (n *Node) Started() int { return int(n.addresses.Load()) }

// register creates the node, and says that it is ready.
func (n *Node) register(ctx context.Context) error {
	if err := n.Create(ctx, n.object); err != nil {
		return err
	}
	room := corev1.ResourceList{
		corev1.ResourcePods:   *resource.NewQuantity(nodePods, resource.DecimalSI),
		corev1.ResourceCPU:    *resource.NewQuantity(nodePods, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(nodePods<<30, resource.BinarySI),
	}
	before := n.object.DeepCopy()
	n.object.Status = corev1.NodeStatus{Capacity: room, Allocatable: room, Conditions: []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Simulated",
		LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()}}}
	// Kubernetes' controllers change the new node, too.
	if err := n.Status().Patch(ctx, n.object, client.MergeFrom(before)); err != nil {
		return err
	}
	lease := &coordinationv1.Lease{ObjectMeta: n.leaseKey(), Spec: coordinationv1.LeaseSpec{
		HolderIdentity: &n.object.Name, LeaseDurationSeconds: ptr.To[int32](leaseSeconds), RenewTime: ptr.To(metav1.NowMicro())}}
	return n.Create(ctx, lease)
}

func (n *Node) leaseKey() metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: n.object.Name}
}

// renewLease keeps Kubernetes from taking the node for lost.
func (n *Node) renewLease(ctx context.Context) error {
	tick := time.NewTicker(leaseRenewal)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			patch := client.RawPatch(types.MergePatchType,
				fmt.Appendf(nil, `{"spec":{"renewTime":%q}}`, time.Now().UTC().Format(metav1.RFC3339Micro)))
			// One that fails is followed by the next, long before the lease has run out.
			_ = n.Patch(ctx, &coordinationv1.Lease{ObjectMeta: n.leaseKey()}, patch)
		}
	}
}

// Remove the node and its lease.
func (n *Node) Remove(ctx context.Context) error {
	if err := client.IgnoreNotFound(n.Delete(ctx, &coordinationv1.Lease{ObjectMeta: n.leaseKey()})); err != nil {
		return err
	}
	return client.IgnoreNotFound(n.Delete(ctx, n.object))
}

// pod simulates the kubelet.
func (n *Node) pod(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var pod corev1.Pod
	if err := n.Get(ctx, req.NamespacedName, &pod); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if pod.DeletionTimestamp != nil {
		return ctrl.Result{}, client.IgnoreNotFound(n.Delete(ctx, &pod, client.GracePeriodSeconds(0),
			client.Preconditions{UID: ptr.To(pod.UID)}))
	}
	if pod.Status.Phase == corev1.PodRunning {
		return ctrl.Result{}, nil
	}
	before := pod.DeepCopy()
	pod.Status.PodIP = n.nextAddress()
	Run(&pod)
	for i := range pod.Status.Conditions {
		pod.Status.Conditions[i].LastTransitionTime = metav1.Now()
	}
	// A pod that the cache shows as it was before gets no second address.
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return ctrl.Result{}, client.IgnoreNotFound(n.Status().Patch(ctx, &pod, patch))
}

func (n *Node) nextAddress() string {
	bytes := firstAddress.As4()
	binary.BigEndian.PutUint32(bytes[:], binary.BigEndian.Uint32(bytes[:])+n.addresses.Add(1)%nodeAddresses)
	return netip.AddrFrom4(bytes).String()
}
