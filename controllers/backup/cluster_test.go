package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	testingclient "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/once"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/once/oncetest"
)

var (
	key = types.NamespacedName{Namespace: "ns", Name: "nightly"}

	scheme = func() *runtime.Scheme {
		s := runtime.NewScheme()
		utilruntime.Must(corev1.AddToScheme(s))
		utilruntime.Must(databasev1alpha1.AddToScheme(s))
		return s
	}()
)

// fakeCluster is an API server, a kubelet and a garbage collector; operators come and go. After every write it checks what must always
// hold.
type fakeCluster struct {
	t      *testing.T
	server client.WithWatch
	// ends are how the pods of the attempts end, in the order in which they start; the last one is for all that follow, too.
	ends []func(*corev1.Pod)
	now  time.Time
	// absent is true while there is nothing to back up.
	absent bool
	// source is what is backed up.
	source source

	uids     int
	seen     *databasev1alpha1.EtcdBackup // the object at the last check
	reported []string                     // the events, in order: type, reason, action and note of each
	ran      []string                     // names of the pods that the kubelet has started, in order
	bound    map[string]types.UID         // pod name → the one UID that ever lost its gate
}

func newFakeCluster(t *testing.T, ends ...func(*corev1.Pod)) *fakeCluster {
	t.Helper()
	w := &fakeCluster{t: t, ends: ends, now: testTime, source: testSource, bound: map[string]types.UID{}}
	w.server = interceptor.NewClient(
		fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&databasev1alpha1.EtcdBackup{}).
			// the default tracker also keeps managed fields, at a hundred times the cost
			WithObjectTracker(testingclient.NewObjectTracker(scheme, serializer.NewCodecFactory(scheme).UniversalDecoder())).
			WithGlobalResourceVersionCounter().Build(),
		interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			w.uids++
			obj.SetUID(types.UID(fmt.Sprintf("%06d-uid", w.uids)))
			return c.Create(ctx, obj, opts...)
		}})
	return w
}

func (f *fakeCluster) must(err error) {
	f.t.Helper()
	if client.IgnoreNotFound(err) != nil {
		f.t.Fatal(err)
	}
}

// backup returns the object as the server has it; nil when it is gone.
func (f *fakeCluster) backup() *databasev1alpha1.EtcdBackup {
	var b databasev1alpha1.EtcdBackup
	err := f.server.Get(context.Background(), key, &b)
	f.must(err)
	if err != nil {
		return nil
	}
	return &b
}

func (f *fakeCluster) pods() []corev1.Pod {
	var list corev1.PodList
	f.must(f.server.List(context.Background(), &list, client.InNamespace(key.Namespace)))
	return list.Items
}

// check sees that at most one pod of each attempt ever starts, that it is the one in the status, and that no two work at a time.
func (f *fakeCluster) check() {
	f.t.Helper()
	working, b := 0, f.backup()
	f.seen = b
	for _, p := range f.pods() {
		if once.IsGated(&p) || b != nil && !metav1.IsControlledBy(&p, b) { // the garbage collector deletes those of a former object
			continue
		}
		if uid, known := f.bound[p.Name]; known && uid != p.UID {
			f.t.Errorf("%s was started twice", p.Name)
		} else if !known && b != nil && (b.Status.Run == nil || b.Status.Run.PodUID != p.UID) {
			f.t.Errorf("%s was started and is not in the status: %+v", p.Name, b.Status.Run)
		}
		f.bound[p.Name] = p.UID
		if p.DeletionTimestamp.IsZero() && !hasEnded(&p) {
			working++
		}
	}
	if working > 1 {
		f.t.Errorf("%d pods work at a time", working)
	}
}

// kubelet starts and ends pods, each by one step, and collects orphans.
func (f *fakeCluster) kubelet() {
	f.t.Helper()
	b := f.backup()
	for _, p := range f.pods() {
		owner := metav1.GetControllerOf(&p)
		switch {
		case owner != nil && (b == nil || b.UID != owner.UID):
			f.must(f.server.Delete(context.Background(), &p))
		case once.IsGated(&p) || hasEnded(&p):
		case p.Spec.NodeName == "":
			p.Spec.NodeName = "node-1"
			f.must(f.server.Update(context.Background(), &p))
		default:
			if !slices.Contains(f.ran, p.Name) {
				f.ran = append(f.ran, p.Name)
			}
			before := p.DeepCopy()
			f.ends[min(slices.Index(f.ran, p.Name), len(f.ends)-1)](&p)
			if !apiequality.Semantic.DeepEqual(before, &p) {
				f.must(f.server.Status().Update(context.Background(), &p))
			}
		}
	}
	f.check()
}

// Eventf is how operators report something.
func (f *fakeCluster) Eventf(_, _ runtime.Object, eventType, reason, action, note string, args ...any) {
	f.reported = append(f.reported, eventType+" "+reason+" "+action+": "+fmt.Sprintf(note, args...))
}

// operator is one process: a reconciler, its cache, and its connection to the server.
type operator struct {
	*Reconciler
	cluster   *fakeCluster
	cache     *laggingCache
	intercept oncetest.Intercept
}

func (f *fakeCluster) operator() *operator {
	o := &operator{cluster: f, intercept: oncetest.Through}
	through := func(call string, do func() error) error {
		return o.intercept(call, func() error {
			err := do()
			f.check()
			return err
		})
	}
	wire := oncetest.NewClient(f.server, through)
	o.cache = &laggingCache{Client: wire}
	kind := Etcd()
	kind.readSource = func(context.Context, client.Reader, types.NamespacedName) (source, string, error) {
		if f.absent {
			return source{}, "there is no cluster", nil
		}
		return f.source, "", nil
	}
	o.Reconciler = &Reconciler{
		Converger: converge.Converger{Client: o.cache, APIReader: wire, Events: f},
		Kind:      kind, Clock: clocktesting.NewFakePassiveClock(f.now), Image: "operator:1",
	}
	o.sync()
	return o
}

// sync lets the cache see the cluster as it is now.
func (o *operator) sync() { o.cache.backup, o.cache.pods = o.cluster.backup(), o.cluster.pods() }

func (o *operator) pass() (ctrl.Result, error) {
	o.Clock = clocktesting.NewFakePassiveClock(o.cluster.now)
	return o.Reconcile(context.Background(), ctrl.Request{NamespacedName: key})
}

// runUntil runs passes and kubelet until nothing moves any more; then it lets time go by, until that time.
func (o *operator) runUntil(end time.Time) {
	o.cluster.t.Helper()
	for rounds := 0; ; rounds++ {
		if rounds > 2000 {
			o.cluster.t.Fatal("the operator and the cluster do not come to rest")
		}
		before := o.cluster.versions()
		o.sync()
		result, err := o.pass()
		o.cluster.kubelet()
		if o.cluster.versions() != before || err != nil && !errors.Is(err, oncetest.ErrKilled) {
			continue
		}
		if result.RequeueAfter <= 0 || o.cluster.now.Add(result.RequeueAfter).After(end) {
			return
		}
		o.cluster.now = o.cluster.now.Add(result.RequeueAfter)
	}
}

func (f *fakeCluster) versions() string {
	var all []string
	if b := f.backup(); b != nil {
		all = append(all, b.ResourceVersion)
	}
	for _, p := range f.pods() {
		all = append(all, p.Name, p.ResourceVersion)
	}
	return strings.Join(all, " ")
}

// laggingCache answers reads with what was last synced.
type laggingCache struct {
	client.Client
	backup *databasev1alpha1.EtcdBackup
	pods   []corev1.Pod
}

func (l *laggingCache) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	if l.backup == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "etcdbackups"}, key.Name)
	}
	l.backup.DeepCopyInto(obj.(*databasev1alpha1.EtcdBackup))
	return nil
}

func (l *laggingCache) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	for i := range l.pods {
		if o.LabelSelector.Matches(labels.Set(l.pods[i].Labels)) {
			list.(*corev1.PodList).Items = append(list.(*corev1.PodList).Items, *l.pods[i].DeepCopy())
		}
	}
	return nil
}
