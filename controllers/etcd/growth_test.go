package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/launcher"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

func storageOf(size string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
}

// claimTemplates are those of a StatefulSet that was made for volumes of that size.
func claimTemplates(size string) []corev1.PersistentVolumeClaim {
	return []corev1.PersistentVolumeClaim{{Spec: corev1.PersistentVolumeClaimSpec{
		Resources: corev1.VolumeResourceRequirements{Requests: storageOf(size)},
	}}}
}

// growing is a cluster of two members whose storage.size was 1Gi and is 2Gi, with the claim of a member that is gone.
type growing struct {
	e      *databasev1alpha1.EtcdCluster
	set    *appsv1.StatefulSet
	claims []*corev1.PersistentVolumeClaim
	pods   []corev1.Pod
	next   membership.Step
	lost   bool  // the members' trust
	answer error // to each write of a claim
	writes int
}

func newGrowing() *growing {
	g := &growing{
		e: &databasev1alpha1.EtcdCluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "e"},
			Spec:       databasev1alpha1.EtcdClusterSpec{Storage: &databasev1alpha1.EtcdStorage{Size: resource.MustParse("2Gi")}},
			Status:     databasev1alpha1.EtcdClusterStatus{Membership: &databasev1alpha1.EtcdMembership{}},
		},
		set:  &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "set"}},
		next: membership.Step{Do: membership.Idle},
	}
	g.e.Spec.Size = ptr.To[int32](3)
	g.set.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(g.e, databasev1alpha1.GroupVersion.WithKind("EtcdCluster"))}
	g.set.Spec.VolumeClaimTemplates = claimTemplates("1Gi")
	for _, name := range []string{"a-0", "a-1"} {
		g.e.Status.Membership.Members = append(g.e.Status.Membership.Members, databasev1alpha1.EtcdRecordedMember{
			Name: name, DataID: "data-of-" + name, StartedBy: types.UID("uid-" + name), ClaimUID: types.UID(name)})
		g.pods = append(g.pods, *g.pod(name, "set", "data-of-"+name))
	}
	for _, name := range []string{"a-0", "a-1", "a-2"} {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "data-" + name, UID: types.UID(name), Labels: parts.Labels(config.AppName, "a"),
		}}
		claim.Spec.Resources.Requests = storageOf("1Gi")
		claim.Status.Phase, claim.Status.Capacity = corev1.ClaimBound, storageOf("1Gi")
		g.claims = append(g.claims, claim)
	}
	return g
}

// pod is one of that StatefulSet, or of none, whose permit names that data, or that has none.
func (*growing) pod(name string, set types.UID, data string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, UID: types.UID("uid-" + name), Labels: parts.Labels(config.AppName, "a"),
	}}
	if set != "" {
		owner := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: set}}
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
	}
	if data != "" {
		permit, _ := json.Marshal(launcher.Permit{Pod: string(pod.UID), Data: data})
		pod.Annotations = map[string]string{config.AnnotationPermit: string(permit), parts.AnnotationRestartedAt: "then"}
	}
	pod.Spec.InitContainers = []corev1.Container{{Name: "launcher", Image: "operator:old"}}
	return pod
}

// grow has the members' claims ask for 2Gi; the volumes have that size.
func (g *growing) grow(has string) {
	for _, claim := range g.claims[:2] {
		claim.Spec.Resources.Requests, claim.Status.Capacity = storageOf("2Gi"), storageOf(has)
	}
}

// start gives a Reconciler over the API server's objects, which counts the writes.
func (g *growing) start(objects ...ctrlclient.Object) *Reconciler {
	for _, claim := range g.claims {
		objects = append(objects, claim)
	}
	known := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(known))
	utilruntime.Must(databasev1alpha1.AddToScheme(known))
	counting := interceptor.Funcs{
		Patch: func(
			ctx context.Context, c ctrlclient.WithWatch, obj ctrlclient.Object, patch ctrlclient.Patch, options ...ctrlclient.PatchOption,
		) error {
			g.writes++
			if g.answer != nil {
				return g.answer
			}
			return c.Patch(ctx, obj, patch, options...)
		},
		Delete: func(ctx context.Context, c ctrlclient.WithWatch, obj ctrlclient.Object, options ...ctrlclient.DeleteOption) error {
			g.writes++
			o := (&ctrlclient.DeleteOptions{}).ApplyOptions(options)
			if ptr.Deref(o.PropagationPolicy, "") != metav1.DeletePropagationOrphan {
				return errors.New("the pods would go")
			}
			return c.Delete(ctx, obj, options...)
		},
	}
	server := fake.NewClientBuilder().WithScheme(known).WithObjects(objects...).WithStatusSubresource(g.e)
	r := &Reconciler{clock: clocktesting.NewFakePassiveClock(time.Unix(0, 0))}
	r.Client = server.WithInterceptorFuncs(counting).Build()
	return r
}

func (g *growing) newObject(r *Reconciler) *object {
	return &object{Reconciler: r, known: &objectMemory{}, cluster: g.e, spec: config.Resolve(g.e, &appsv1.StatefulSet{}, nil)}
}

func TestAPassEnlargesTheVolumes(t *testing.T) {
	refusal := apierrors.NewForbidden(corev1.Resource("persistentvolumeclaims"), "data-a-0", errors.New("no"))
	for _, c := range []struct {
		name    string
		arrange func(*growing)
		asked   []string // by each claim, then
		stands  bool     // the StatefulSet
		writes  int
	}{
		{"the claims of members are to ask for it", func(*growing) {}, []string{"2Gi", "2Gi", "1Gi"}, true, 2},
		{"the storage has yet to give it", func(g *growing) { g.grow("1Gi") }, []string{"2Gi", "2Gi", "1Gi"}, true, 0},
		{"every volume has it", func(g *growing) { g.grow("2Gi") }, []string{"2Gi", "2Gi", "1Gi"}, false, 1},
		{"at rest", func(g *growing) {
			g.grow("2Gi")
			g.set.Spec.VolumeClaimTemplates = claimTemplates("2Gi")
		}, []string{"2Gi", "2Gi", "1Gi"}, true, 0},
		{"less is asked for", func(g *growing) { g.e.Spec.Storage.Size = resource.MustParse("512Mi") }, []string{"1Gi", "1Gi", "1Gi"}, true, 0},
		{"a step changes what was looked at", func(g *growing) {
			g.grow("2Gi")
			g.next.Do = membership.AddMember
		}, []string{"2Gi", "2Gi", "1Gi"}, true, 0},
		{"it was refused", func(g *growing) { g.answer = refusal }, []string{"1Gi", "1Gi", "1Gi"}, true, 2},
		{"paused", func(g *growing) { g.e.Spec.Paused = true }, []string{"1Gi", "1Gi", "1Gi"}, true, 0},
		{"no StatefulSet is made in its place", func(g *growing) { g.grow("2Gi"); g.lost = true }, []string{"2Gi", "2Gi", "1Gi"}, true, 0},
		{"the record is gone", func(g *growing) { g.e.Status.Membership = nil }, []string{"1Gi", "1Gi", "1Gi"}, true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGrowing()
			c.arrange(g)
			r := g.start(g.set)
			claims, err := converge.ListClaims(t.Context(), r.Client, ctrlclient.ObjectKeyFromObject(g.e), config.AppName, config.DataVolume)
			if err != nil {
				t.Fatal(err)
			}
			o := g.newObject(r)
			o.in = inputs{set: g.set.DeepCopy(), pods: g.pods, claims: claims}
			if g.lost {
				o.in.lost = config.TrustLost(o.spec)
			}
			seen := membership.Situation{Spec: o.spec, Status: &g.e.Status, World: o.observe(t.Context())}
			if err := r.Get(t.Context(), ctrlclient.ObjectKeyFromObject(g.set), o.in.set); err != nil {
				t.Fatal(err)
			}
			growth, err := o.growVolumes(t.Context(), seen.MayOrphanPods(g.next))
			if err != nil || (growth.Refusal != "") != (g.answer != nil) || g.writes != c.writes {
				t.Errorf("%v, refused %q, %d writes", err, growth.Refusal, g.writes)
			}
			var asked []string
			for _, claim := range g.claims {
				var stored corev1.PersistentVolumeClaim
				if err := r.Get(t.Context(), ctrlclient.ObjectKeyFromObject(claim), &stored); err != nil {
					t.Fatal(err)
				}
				asked = append(asked, stored.Spec.Resources.Requests.Storage().String())
			}
			stands := r.Get(t.Context(), ctrlclient.ObjectKeyFromObject(g.set), &appsv1.StatefulSet{}) == nil
			if !slices.Equal(asked, c.asked) || stands != c.stands {
				t.Errorf("they ask for %v; the StatefulSet stands: %t", asked, stands)
			}
		})
	}
}

// A recreated StatefulSet takes its pods back one by one, and no member is without its pod meanwhile.
func TestPodsOfARecreatedStatefulSet(t *testing.T) {
	for _, c := range []struct {
		name      string
		set, data string // of the pod
		made      bool   // the StatefulSet, again
		pod       string
		want      bool
	}{
		{"it owns it", "set", "", true, "a-0", true},
		{"it is yet to take it back", "", "data-of-a-0", true, "a-0", true},
		{"there is none", "", "data-of-a-0", false, "a-0", true},
		{"the cache shows the former one", "former", "data-of-a-0", false, "a-0", true},
		{"the cache has not heard that it was taken back", "former", "data-of-a-0", true, "a-0", true},
		{"of an earlier object", "former", "other-data", true, "a-0", false},
		{"of an earlier object, which has no permit", "former", "", false, "a-0", false},
		{"with the data of another", "former", "data-of-a-1", true, "a-0", false},
		{"under a name that is none of a member", "", "", true, "b-0", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGrowing()
			objects := []ctrlclient.Object{g.pod(c.pod, types.UID(c.set), c.data)}
			if c.made {
				objects = append(objects, g.set)
			}
			r := g.start(objects...)
			o := g.newObject(r)
			var err error
			if o.in.set, err = r.GetStatefulSet(t.Context(), g.e); err != nil {
				t.Fatal(err)
			}
			if pods, _, err := o.listPods(t.Context()); err != nil || (len(pods) == 1) != c.want {
				t.Errorf("%v, %d pods", err, len(pods))
			}
		})
	}
}

// The quota follows the volumes that there are, and the StatefulSet is recreated as its pods are, but for that.
func TestPassesRecreateTheStatefulSet(t *testing.T) {
	g := newGrowing()
	g.grow("2Gi")
	g.e.Status.TargetVersion, g.e.Status.TargetImage, g.e.Status.Membership.ClusterID = "3.6.16", "etcd:6", "c"
	r := g.start(g.e, g.set, &g.pods[0], &g.pods[1])
	r.LauncherImage, r.APIReader, r.Events = "operator:new", r.Client, events.NewFakeRecorder(99)
	r.clock = clocktesting.NewFakePassiveClock(peersStart)
	set := &appsv1.StatefulSet{}
	pass := func() (stands bool) {
		t.Helper()
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: ctrlclient.ObjectKeyFromObject(g.e)}); err != nil {
			t.Fatal(err)
		}
		*set = appsv1.StatefulSet{}
		return r.Get(t.Context(), ctrlclient.ObjectKeyFromObject(g.e), set) == nil
	}
	expect := func(size, quota, launcher string) {
		t.Helper()
		template := set.Spec.Template.Spec
		got := set.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests[corev1.ResourceStorage]
		hasQuota := slices.Contains(template.Containers[0].Args, "--quota-backend-bytes="+quota)
		if got.String() != size || template.InitContainers[0].Image != launcher || !hasQuota {
			t.Fatalf("it is made for %s: %+v", got.String(), template)
		}
	}
	if !pass() {
		t.Fatal("a pass deleted another StatefulSet than the one that it had read")
	}
	expect("1Gi", "536870912", "operator:new")
	if pass() {
		t.Fatal("it still stands")
	}
	for i := range g.pods { // the garbage collector's part
		if err := r.Get(t.Context(), ctrlclient.ObjectKeyFromObject(&g.pods[i]), &g.pods[i]); err != nil {
			t.Fatal(err)
		}
		g.pods[i].OwnerReferences = nil
		if err := r.Update(t.Context(), &g.pods[i]); err != nil {
			t.Fatal(err)
		}
	}
	if !pass() {
		t.Fatal("it was not recreated")
	}
	expect("2Gi", "1073741824", "operator:old")
	writes := g.writes
	if !pass() || g.writes != writes {
		t.Errorf("%d writes at rest", g.writes-writes)
	}
}
