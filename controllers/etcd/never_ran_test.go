package etcd

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/fleet"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

// podOn is a pod on a node, with what its kubelet reports of etcd's container.
func podOn(node string, reported ...corev1.ContainerStatus) corev1.Pod {
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a-2", UID: "p2"},
		Spec: corev1.PodSpec{NodeName: node}, Status: corev1.PodStatus{ContainerStatuses: reported}}
}

var (
	waits = corev1.ContainerStatus{Name: config.AppName,
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}}}
	loops = corev1.ContainerStatus{Name: config.AppName, RestartCount: 1,
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}
	started = corev1.ContainerStatus{Name: config.AppName, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
)

func TestAPodProvablyNeverRan(t *testing.T) {
	ready := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "ready"},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
	silent := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "silent"},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}}}
	forbidden := apierrors.NewForbidden(corev1.Resource("nodes"), "ready", errors.New("no"))
	running := podOn("ready", started)
	for _, c := range []struct {
		name   string
		pod    corev1.Pod
		others []corev1.Pod
		err    error // of reading a node
		want   bool
	}{
		{"it is on no node", podOn(""), []corev1.Pod{running}, nil, true},
		{"its node is Ready and reports no start", podOn("ready", waits), []corev1.Pod{running}, nil, true},
		{"its node has reported nothing yet", podOn("ready"), nil, nil, false},
		{"its node is silent", podOn("silent", waits), nil, nil, false},
		{"its node is gone", podOn("gone", waits), nil, nil, false},
		{"it runs", running, nil, nil, false},
		{"it has run", podOn("ready", loops), nil, nil, false},
		{"the node cannot be read now", podOn("ready", waits), nil, errors.New("timeout"), false},
		{"nodes may not be read, and no pod has run", podOn("ready", waits), nil, forbidden, true},
		{"nodes may not be read, and another has run", podOn("ready", waits), []corev1.Pod{running}, forbidden, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := fake.NewClientBuilder().WithObjects(&ready, &silent).WithInterceptorFuncs(interceptor.Funcs{
				Get: func(ctx context.Context, api ctrlclient.WithWatch, key ctrlclient.ObjectKey, obj ctrlclient.Object,
					o ...ctrlclient.GetOption) error {
					if c.err != nil {
						return c.err
					}
					return api.Get(ctx, key, obj, o...)
				}}).Build()
			for i := range c.others {
				c.others[i].UID = types.UID("other")
			}
			got := effectsOn(api, builders.EtcdCluster("a").Build(), append(c.others, c.pod)...).provenNeverRan(t.Context())
			if got["p2"] != c.want {
				t.Errorf("got %t", got["p2"])
			}
		})
	}
}

// A pod that never ran may have started since it was looked at: then it stays, and it is looked at again.
func TestAPodThatHasChangedStays(t *testing.T) {
	seen := podOn("", waits)
	api := fake.NewClientBuilder().WithObjects(&seen).Build()
	if err := api.Get(t.Context(), ctrlclient.ObjectKeyFromObject(&seen), &seen); err != nil {
		t.Fatal(err)
	}
	now := seen.DeepCopy()
	now.Spec.NodeName = "ready"
	if err := api.Update(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	a := effectsOn(api, builders.EtcdCluster("a").Build(), seen)
	a.cluster.Namespace = seen.Namespace
	if err := a.DeletePod(t.Context(), "a-2", true); !errors.Is(err, fleet.ErrPodChanged) {
		t.Errorf("got %v", err)
	}
	if err := a.DeletePod(t.Context(), "a-2", false); err != nil {
		t.Errorf("one whose data is elsewhere goes anyway: %v", err)
	}
}
