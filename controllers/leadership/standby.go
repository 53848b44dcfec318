package leadership

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Get the lease when there is something to do about it: at once for the leader, and for another
// process when nobody holds it. One whose holder has ended, or has not renewed it for as
// long as it lasts, is given as one that nobody holds: whoever takes it then does so under the
// version that was read after this was known. The leader election alone would ask for it every now
// and then, and know nothing of the holder.
func (l *Lease) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	var free vacancy
	for {
		record, raw, err := l.LeaseLock.Get(ctx)
		if err != nil || l.renewed.Load() != nil || record.HolderIdentity == "" || record.HolderIdentity == l.Identity() {
			return record, raw, err
		}
		if free.of(*record) {
			log.FromContext(ctx).Info("taking the lease", "from", record.HolderIdentity, "why", free.why)
			record.HolderIdentity = ""
			raw, err = json.Marshal(record)
			return record, raw, err
		}
		if free, err = l.await(ctx, *record); err != nil {
			return nil, nil, err
		}
	}
}

// vacancy of a lease that names a holder.
type vacancy struct {
	holder  string
	renewed metav1.Time // the last time; none when the holder has ended, whenever that was
	why     string
}

// of reports whether it is one of the lease as it is now.
func (v vacancy) of(record resourcelock.LeaderElectionRecord) bool {
	return v.holder == record.HolderIdentity && (v.renewed.IsZero() || v.renewed.Equal(&record.RenewTime))
}

// await the end of the lease's holder, of its time, or its change of hands, of which there is no vacancy.
func (l *Lease) await(ctx context.Context, seen resourcelock.LeaderElectionRecord) (vacancy, error) {
	ctx, enough := context.WithCancel(ctx)
	defer enough()
	renewals, ends := make(chan resourcelock.LeaderElectionRecord), make(chan struct{})
	go l.watchLease(ctx, renewals)
	go l.watchHolder(ctx, seen.HolderIdentity, ends)

	at := l.clock.Now()
	expiry := l.clock.NewTimer(l.duration(seen))
	defer expiry.Stop()
	for {
		select {
		case <-ctx.Done():
			return vacancy{}, ctx.Err()
		case <-ends:
			return vacancy{holder: seen.HolderIdentity, why: "the kubelet reports that its holder has ended"}, nil
		case now := <-renewals:
			if now.HolderIdentity != seen.HolderIdentity {
				return vacancy{}, nil
			}
			if !now.RenewTime.Equal(&seen.RenewTime) {
				at, seen = l.clock.Now(), now
			}
		case <-expiry.C():
			if left := l.duration(seen) - l.clock.Since(at); left > 0 { // it was renewed since
				expiry.Reset(left)
				continue
			}
			return vacancy{holder: seen.HolderIdentity, renewed: seen.RenewTime, why: "its holder did not renew it in time"}, nil
		}
	}
}

// duration of the lease, by its holder, who may be of another release, and by this process.
func (l *Lease) duration(record resourcelock.LeaderElectionRecord) time.Duration {
	return max(l.times.Lease, time.Duration(record.LeaseDurationSeconds)*time.Second)
}

// watchLease gives every state of it that is seen. One that was deleted is held by nobody.
func (l *Lease) watchLease(ctx context.Context, states chan<- resourcelock.LeaderElectionRecord) {
	tell := func(record resourcelock.LeaderElectionRecord) {
		select {
		case states <- record:
		case <-ctx.Done():
		}
	}
	look := func(object any) {
		if lease, is := object.(*coordinationv1.Lease); is {
			tell(*resourcelock.LeaseSpecToLeaderElectionRecord(&lease.Spec))
		}
	}
	watchOne(ctx, l.watched, l.watched.CoordinationV1().Leases(l.LeaseMeta.Namespace), l.LeaseMeta.Name, &coordinationv1.Lease{}, cache.ResourceEventHandlerFuncs{
		AddFunc:    look,
		UpdateFunc: func(_, object any) { look(object) },
		DeleteFunc: func(any) { tell(resourcelock.LeaderElectionRecord{}) },
	})
}

// watchHolder closes over when the kubelet reports that the holder has ended.
func (l *Lease) watchHolder(ctx context.Context, holder string, over chan<- struct{}) {
	once := sync.OnceFunc(func() { close(over) })
	look := func(object any) {
		if pod, is := object.(*corev1.Pod); is && ended(pod, holder) {
			once()
		}
	}
	watchOne(ctx, l.watched, l.watched.CoreV1().Pods(l.LeaseMeta.Namespace), podOf(holder), &corev1.Pod{}, cache.ResourceEventHandlerFuncs{
		AddFunc:    look,
		UpdateFunc: func(_, object any) { look(object) },
		DeleteFunc: look, // which may come with its last status
	})
}

// resource of the API server whose lists are L.
type resource[L runtime.Object] interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// watchOne object of a resource until the context ends, however often the API server ends a watch.
func watchOne[L runtime.Object](ctx context.Context, client any, objects resource[L], name string, kind runtime.Object, handler cache.ResourceEventHandler) {
	one := fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				options.FieldSelector = one
				return objects.List(ctx, options)
			},
			WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
				options.FieldSelector = one
				return objects.Watch(ctx, options)
			},
		}, client),
		ObjectType: kind, Handler: handler,
	})
	informer.RunWithContext(ctx)
}
