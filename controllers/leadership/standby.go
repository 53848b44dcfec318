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

// Get returns the lease as soon as this process can do something about it. The leader gets it at once,
// and so does everybody while it has no holder. Otherwise Get waits until the holder has ended, or has
// not renewed the lease in time, and returns the lease without a holder. The leader election then takes
// it, under the resource version that was read last: if it has changed since, that fails. The leader
// election alone would poll the lease, and knows nothing of the holder.
func (l *Lease) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	var free vacancy
	for {
		record, raw, err := l.LeaseLock.Get(ctx)
		if err != nil || l.renewed.Load() != nil || record.HolderIdentity == "" || record.HolderIdentity == l.Identity() {
			return record, raw, err
		}
		if free.appliesTo(*record) {
			log.FromContext(ctx).Info("taking the lease", "holder", free.holder, "ended", free.ended, "lastRenewal", free.renewed)
			record.HolderIdentity = ""
			raw, err = json.Marshal(record)
			return record, raw, err
		}
		if free, err = l.awaitVacancy(ctx, *record); err != nil {
			return nil, nil, err
		}
	}
}

// vacancy is why a lease may be taken although it names a holder.
type vacancy struct {
	holder  string
	ended   bool        // the holder has
	renewed metav1.Time // otherwise: its last renewal, which has run out
}

// appliesTo reports whether the lease is still the one that was found vacant.
func (v vacancy) appliesTo(record resourcelock.LeaderElectionRecord) bool {
	return v.holder == record.HolderIdentity && (v.ended || v.renewed.Equal(&record.RenewTime))
}

// awaitVacancy of a lease that was just read. If the lease changes hands meanwhile, the vacancy is empty.
func (l *Lease) awaitVacancy(ctx context.Context, seen resourcelock.LeaderElectionRecord) (vacancy, error) {
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
			return vacancy{holder: seen.HolderIdentity, ended: true}, nil
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
			return vacancy{holder: seen.HolderIdentity, renewed: seen.RenewTime}, nil
		}
	}
}

// duration of the lease. The holder may be of a release with a longer one.
func (l *Lease) duration(record resourcelock.LeaderElectionRecord) time.Duration {
	return max(l.times.Lease, time.Duration(record.LeaseDurationSeconds)*time.Second)
}

// watchLease sends every state of the lease that it sees. A deleted lease has no holder.
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
	watchOne(ctx, l.watching, l.watching.CoordinationV1().Leases(l.LeaseMeta.Namespace), l.LeaseMeta.Name, &coordinationv1.Lease{}, cache.ResourceEventHandlerFuncs{
		AddFunc:    look,
		UpdateFunc: func(_, object any) { look(object) },
		DeleteFunc: func(any) { tell(resourcelock.LeaderElectionRecord{}) },
	})
}

// watchHolder closes over as soon as the kubelet reports that the holder has ended.
func (l *Lease) watchHolder(ctx context.Context, holder string, over chan<- struct{}) {
	once := sync.OnceFunc(func() { close(over) })
	look := func(object any) {
		if pod, is := object.(*corev1.Pod); is && ended(pod, holder) {
			once()
		}
	}
	watchOne(ctx, l.watching, l.watching.CoreV1().Pods(l.LeaseMeta.Namespace), podOf(holder), &corev1.Pod{}, cache.ResourceEventHandlerFuncs{
		AddFunc:    look,
		UpdateFunc: func(_, object any) { look(object) },
		DeleteFunc: look, // the deletion may bring the last status
	})
}

// resource of the API server, with lists of type L.
type resource[L runtime.Object] interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// watchOne object of a resource until the context ends. It resumes when the API server ends a watch.
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
