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

// Get returns the lease as soon as this process may take or renew it: at once if it has led or no process holds the lease;
// else once the holder has ended or has not renewed in time, and then without a holder. The election writes under the
// version that was read, so a lease that has changed since is not taken. client-go alone would poll, and cannot see a
// holder's end.
func (l *Lease) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	var free vacancy
	for {
		record, raw, err := l.LeaseLock.Get(ctx)
		if err != nil {
			return nil, nil, err
		}
		switch holder := record.HolderIdentity; {
		case l.renewTime.Load() != nil:
			if holder != l.Identity() {
				l.renewTime.Store(lapsed)
			}
			return record, raw, nil
		case holder == "" || holder == l.Identity():
			return record, raw, nil
		case free.appliesTo(*record):
			log.FromContext(ctx).Info("taking the lease", "holder", free.holder, "ended", free.ended, "lastRenewal", free.renewed)
			record.HolderIdentity = ""
			raw, err = json.Marshal(record)
			return record, raw, err
		}
		l.observe(*record)
		if free, err = l.awaitVacancy(ctx); err != nil {
			return nil, nil, err
		}
	}
}

// observe notes the lease of another process. Its time counts from the last change that was seen, however often the
// API server fails to answer meanwhile.
func (l *Lease) observe(now resourcelock.LeaderElectionRecord) {
	if now.HolderIdentity != l.observedRecord.HolderIdentity || !now.RenewTime.Equal(&l.observedRecord.RenewTime) {
		l.observedRecord, l.observedTime = now, l.clock.Now()
	}
}

// vacancy is why a lease may be taken although it names a holder.
type vacancy struct {
	holder  string
	ended   bool        // the kubelet has reported the holder's end
	renewed metav1.Time // else the renewal that expired
}

// appliesTo reports whether the lease is still the one that was found vacant.
func (v vacancy) appliesTo(record resourcelock.LeaderElectionRecord) bool {
	return v.holder == record.HolderIdentity && (v.ended || v.renewed.Equal(&record.RenewTime))
}

// awaitVacancy waits until the observed lease may be taken, and says why. If the holder changes, the vacancy is empty and
// the caller reads again.
func (l *Lease) awaitVacancy(ctx context.Context) (vacancy, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	holder := l.observedRecord.HolderIdentity
	states, ended := make(chan resourcelock.LeaderElectionRecord), make(chan struct{})
	go l.watchLease(ctx, states)
	go l.watchHolder(ctx, holder, ended)

	expiry := l.clock.NewTimer(l.timeLeft())
	defer expiry.Stop()
	for {
		select {
		case <-ctx.Done():
			return vacancy{}, ctx.Err()
		case <-ended:
			return vacancy{holder: holder, ended: true}, nil
		case now := <-states:
			if now.HolderIdentity != holder {
				return vacancy{}, l.waitRetryPeriod(ctx, now)
			}
			l.observe(now)
		case <-expiry.C():
			if left := l.timeLeft(); left > 0 { // it was renewed since
				expiry.Reset(left)
				continue
			}
			return vacancy{holder: holder, renewed: l.observedRecord.RenewTime}, nil
		}
	}
}

// timeLeft returns how long the observed lease still lasts. Its holder may be of a release with a longer lease.
func (l *Lease) timeLeft() time.Duration {
	return max(l.times.LeaseDuration, time.Duration(l.observedRecord.LeaseDurationSeconds)*time.Second) - l.clock.Since(l.observedTime)
}

// waitRetryPeriod waits before the lease is read again, unless it was released: a watch may lag behind the last read, and
// without this wait it would report a former holder over and over.
func (l *Lease) waitRetryPeriod(ctx context.Context, now resourcelock.LeaderElectionRecord) error {
	if now.HolderIdentity == "" {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-l.clock.After(l.times.RetryPeriod):
		return nil
	}
}

// watchLease sends every state of the lease that it sees. A deleted lease has no holder.
func (l *Lease) watchLease(ctx context.Context, states chan<- resourcelock.LeaderElectionRecord) {
	send := func(record resourcelock.LeaderElectionRecord) {
		select {
		case states <- record:
		case <-ctx.Done():
		}
	}
	onChange := func(object any) {
		if lease, is := object.(*coordinationv1.Lease); is {
			send(*resourcelock.LeaseSpecToLeaderElectionRecord(&lease.Spec))
		}
	}
	watchObject(ctx, l.client, l.client.CoordinationV1().Leases(l.LeaseMeta.Namespace), l.LeaseMeta.Name, &coordinationv1.Lease{},
		cache.ResourceEventHandlerFuncs{
			AddFunc:    onChange,
			UpdateFunc: func(_, object any) { onChange(object) },
			DeleteFunc: func(any) { send(resourcelock.LeaderElectionRecord{}) },
		})
}

// watchHolder closes the channel as soon as the kubelet reports the holder's end.
func (l *Lease) watchHolder(ctx context.Context, holder string, ended chan<- struct{}) {
	report := sync.OnceFunc(func() { close(ended) })
	onChange := func(object any) {
		if pod, is := object.(*corev1.Pod); is && reportsEnd(pod, holder) {
			report()
		}
	}
	watchObject(ctx, l.client, l.client.CoreV1().Pods(l.LeaseMeta.Namespace), podOf(holder), &corev1.Pod{}, cache.ResourceEventHandlerFuncs{
		AddFunc:    onChange,
		UpdateFunc: func(_, object any) { onChange(object) },
		DeleteFunc: onChange, // the deletion may bring the last status
	})
}

// listWatcher lists and watches objects of the API server; its lists are of type L.
type listWatcher[L runtime.Object] interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// watchObject watches one object of a resource until the context ends. It resumes when the API server ends a watch.
func watchObject[L runtime.Object](ctx context.Context, client any, objects listWatcher[L], name string, kind runtime.Object,
	handler cache.ResourceEventHandler) {
	selector := fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				options.FieldSelector = selector
				return objects.List(ctx, options)
			},
			WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
				options.FieldSelector = selector
				return objects.Watch(ctx, options)
			},
		}, client),
		ObjectType: kind, Handler: handler,
	})
	informer.RunWithContext(ctx)
}
