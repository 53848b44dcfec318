package redis

import (
	"context"
	"errors"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/children"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
)

func podMadeBy(set types.UID) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a-0", UID: "uid-a-0", Labels: parts.Labels(config.AppName, "a"),
		Annotations: map[string]string{parts.AnnotationRestartedAt: "then"}}}
	pod.Spec.Containers = []corev1.Container{{Name: config.AppName, Image: "redis:old"}}
	if set != "" {
		owner := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: set}}
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
	}
	return pod
}

// desiredSet returns the StatefulSet among the children.
func desiredSet(t *testing.T, in children.Inputs) *appsv1ac.StatefulSetApplyConfiguration {
	t.Helper()
	for _, child := range children.Desired(in) {
		if set, ok := child.(*appsv1ac.StatefulSetApplyConfiguration); ok {
			return set
		}
	}
	t.Fatal("no StatefulSet")
	return nil
}

// A StatefulSet that is recreated is made as its pods are: they must not be outdated.
func TestPodsShowWhatAMissingStatefulSetWas(t *testing.T) {
	r, redis := newStampReconciler(t, podMadeBy("gone"))
	redis.Spec.Storage.Size = resource.MustParse("2Gi")
	p := r.newPass(redis, nil)
	if err := p.readWorkload(t.Context()); err != nil || len(p.Pods) != 1 {
		t.Fatal(err, p.Pods)
	}
	c := p.childInputs()
	if c.Image != "redis:old" || c.RestartedAt != "then" || c.VolumeSize.String() != "2Gi" {
		t.Errorf("%+v", c)
	}
	if got := desiredSet(t, c).Spec.Template.Annotations[parts.AnnotationRestartedAt]; got != "then" {
		t.Errorf("restarted %q", got)
	}
}

func TestPodsOfAnEarlierStatefulSet(t *testing.T) {
	_, redis := newStampReconciler(t)
	redis.UID = "redis"
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", UID: "new", OwnerReferences: []metav1.OwnerReference{
		*metav1.NewControllerRef(redis, cachev1alpha1.GroupVersion.WithKind("Redis"))}}}
	for _, c := range []struct {
		reason string
		pod    ctrlclient.Object
		known  bool
		counts int
	}{
		{"of an earlier object", podMadeBy("old"), false, 0},
		{"recorded: the cache has not heard that they were taken back", podMadeBy("old"), true, 1},
		{"of no one", podMadeBy(""), false, 1},
	} {
		t.Run(c.reason, func(t *testing.T) {
			r, _ := newStampReconciler(t, set.DeepCopy(), c.pod)
			redis := redis.DeepCopy()
			if c.known {
				redis.Status.Replication = fixture.Healthy(1).Status.Replication
			}
			p := r.newPass(redis, nil)
			if err := p.readWorkload(t.Context()); err != nil || len(p.Pods) != c.counts {
				t.Errorf("%v: %d pods", err, len(p.Pods))
			}
		})
	}
}

// A pod of a new template may be there before the cache has the StatefulSet of that template. Its master would be switched over,
// and the pod recreated, once more.
func TestAnOlderCopyOfTheStatefulSetMakesNoPodOutdated(t *testing.T) {
	known := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(known), cachev1alpha1.AddToScheme(known)); err != nil {
		t.Fatal(err)
	}
	redis := &cachev1alpha1.Redis{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", UID: "redis"}}
	cached := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", UID: "set", Generation: 1}}
	cached.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(redis, cachev1alpha1.GroupVersion.WithKind("Redis"))}
	cached.Status = appsv1.StatefulSetStatus{ObservedGeneration: 1, UpdateRevision: "old"}
	pod := podMadeBy("set")
	pod.Labels[appsv1.ControllerRevisionHashLabelKey] = "new"
	r := &Reconciler{clock: clock.RealClock{}}
	r.Client = fake.NewClientBuilder().WithScheme(known).WithObjects(cached, pod).WithInterceptorFuncs(interceptor.Funcs{
		Apply: func(_ context.Context, _ ctrlclient.WithWatch, answer runtime.ApplyConfiguration, _ ...ctrlclient.ApplyOption) error {
			answer.(interface{ SetGeneration(int64) }).SetGeneration(2) // and the cache has not heard of it
			return nil
		},
	}).Build()

	isOutdated := func() bool {
		t.Helper()
		p := r.newPass(redis, nil)
		if err := p.readWorkload(t.Context()); err != nil || len(p.Pods) != 1 {
			t.Fatal(err, p.Pods)
		}
		return children.NodeOf(&p.Pods[0], p.Set, time.Now()).Outdated
	}
	if !isOutdated() {
		t.Fatal("it is of another revision, and nothing was written since")
	}
	if _, err := r.Converge(t.Context(), redis, desiredSet(t, children.Inputs{Redis: redis, Spec: config.Resolve(redis)})); err != nil {
		t.Fatal(err)
	}
	if isOutdated() {
		t.Error("it is outdated by what the cache had before our last write")
	}
}
