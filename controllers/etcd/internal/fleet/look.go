package fleet

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/wire"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/command"
)

// lookLimit bounds a look at all servers of one object, which are asked at once, and the question for the list of members.
const lookLimit = 800 * time.Millisecond

// hashLimit bounds the hash of one member's data. The server reads all of it: 8 GiB, which etcd gives as the largest quota, from a
// disk that reads 140 MiB/s. A server continues to read when the time is over, so the next question finds the data in the page cache.
const hashLimit = time.Minute

// Look asks all servers what they say, and joins that with what was seen of their pods.
func (f *Fleet) Look(ctx context.Context) {
	record := f.Cluster.Status.Membership
	f.lookAtServers(ctx, record)
	f.Memory.logs.note(f.Members)
	f.readList(ctx)
	f.CompactedLately = f.Memory.compactedLately(f.Clock.Now())
	for i := range f.Members {
		f.Members[i].DefragmentedLately = f.Memory.defragmentedLately(f.Members[i].Name, f.Clock.Now())
	}
	if !f.Listed {
		f.lookAtWaiting(ctx, record)
	}
	f.hashData(ctx)
	if f.Spec.RequiresLogin {
		f.lookAtAccess(ctx)
	}
}

// lookAtServers asks all servers at once what they say of themselves. What answers as somebody else has not answered: an address may
// be another pod's by now.
func (f *Fleet) lookAtServers(ctx context.Context, record *databasev1alpha1.EtcdMembership) {
	var mu sync.Mutex
	f.askAll(ctx, lookLimit, func(ctx context.Context, m *membership.Member) {
		view := f.servers[m.Name].Look(ctx)
		if m.MayAnswer(view, record) {
			m.View = view
		}
		m.View.LockedOut = view.LockedOut
		if membership.IsOfAnotherCluster(view, record) {
			mu.Lock()
			defer mu.Unlock()
			if !f.Other.Answered || view.Revision > f.Other.Revision {
				f.Other = view
			}
		}
	})
}

// lookAtWaiting asks the servers that did not answer what data they have, in case they wait for a majority that is lost.
func (f *Fleet) lookAtWaiting(ctx context.Context, record *databasev1alpha1.EtcdMembership) {
	f.askAll(ctx, lookLimit, func(ctx context.Context, m *membership.Member) {
		if m.View.Answered || m.View.LockedOut {
			return
		}
		view, err := f.servers[m.Name].LookAtWaiting(ctx)
		if err != nil {
			log.FromContext(ctx).Info("the metrics of a member cannot be read", "member", m.Name, "error", err.Error())
		}
		if m.MayAnswer(view, record) {
			m.View = view
		}
	})
}

// hashData asks one member in a pass what its data hashes to, while the alarm is raised that the data differs. While a server reads
// all of its data, it commits nothing: the others do meanwhile. No write is applied while the alarm is raised, neither is a
// compaction nor the end of a lease (applierV3Corrupt in etcd's server/etcdserver/apply/corrupt.go): so hashes of several passes are
// of one revision. A hash counts from the next pass on, which decides by a fresh look.
//
// The question is for the present revision, and not for one by number: for the revision of the last compaction etcd would return a hash
// that it has stored then (hashStorage in server/storage/mvcc/hash.go).
func (f *Fleet) hashData(ctx context.Context) {
	if !f.Listed {
		return // whether the alarm is raised is not known
	}
	known := &f.Memory.hashes
	if !f.HasCorruptAlarm() {
		*known = hashes{} // data may change from now on
		return
	}
	for i := range f.Members {
		f.Members[i].View.Data = known.of(f.Members[i])
	}
	unknown := f.Where(func(m membership.Member) bool {
		return m.Listed != nil && m.View.Answered && m.View.Data.Revision == 0 && f.servers[m.Name] != nil
	})
	if len(unknown) == 0 {
		return
	}
	next := known.next(unknown)
	ctx, done := context.WithTimeout(ctx, hashLimit)
	defer done()
	hash, err := f.servers[next.Name].HashData(ctx)
	if err != nil {
		log.FromContext(ctx).Info("the data of a member cannot be compared", "member", next.Name, "error", err.Error())
	}
	known.note(next, hash)
}

// RecordLogs puts into the status how far the logs of the members are on their disks. It is asked last in a pass, as the status is saved
// after it.
func (f *Fleet) RecordLogs() {
	if f.Cluster.Status.Membership == nil || f.Situation().IsRecovering() {
		f.Memory.logs.seen = nil // a cluster of one drops what it does not know to be confirmed, and keeps its data directory
		return
	}
	f.Memory.logs.record(&f.Cluster.Status, f.Clock.Now())
}

// askAll asks all servers at once, within a time.
func (f *Fleet) askAll(ctx context.Context, limit time.Duration, ask func(context.Context, *membership.Member)) {
	ctx, done := context.WithTimeout(ctx, limit)
	defer done()
	var all []func()
	for i := range f.Members {
		if m := &f.Members[i]; f.servers[m.Name] != nil {
			all = append(all, func() { ask(ctx, m) }) // one that was not asked has not answered
		}
	}
	command.All(ctx, "asking an etcd server", all)
}

// readList asks a member that knows a leader for etcd's list of members, and joins it with the members.
func (f *Fleet) readList(ctx context.Context) {
	ctx, done := context.WithTimeout(ctx, lookLimit)
	defer done()
	for _, m := range f.Where(func(m membership.Member) bool { return m.View.Answered && m.View.Leader != 0 && !m.View.IsLearner }) {
		list, err := f.servers[m.Name].Members(ctx)
		var alarms []membership.Alarm
		if err == nil && m.View.HasAlarms {
			alarms, err = f.servers[m.Name].Alarms(ctx)
		}
		if err != nil {
			log.FromContext(ctx).V(1).Info("a member does not show the list of members", "member", m.Name, "error", err.Error())
			f.Access.LockedOut = f.Access.LockedOut || errors.Is(err, wire.ErrLockedOut) // etcd 3.5 and 3.6 show their status all the same
			continue
		}
		f.Access.LockedOut = false // the majority accepts the token
		f.Listed, f.ClusterID = true, m.View.ClusterID
		f.join(list, alarms)
		return
	}
}

// join joins etcd's list of members and its alarms with the members that the record and the pods name.
func (f *Fleet) join(list []membership.ListedMember, alarms []membership.Alarm) {
	f.Alarms = alarms
	byURL := map[string]*membership.ListedMember{}
	for i := range list {
		byURL[list[i].PeerURL] = &list[i]
	}
	for i := range f.Members {
		m := &f.Members[i]
		if m.Listed = byURL[f.Spec.PeerURL(m.Name)]; m.Listed != nil {
			for _, a := range alarms {
				if a.ID == m.Listed.ID {
					m.View.Alarms = append(m.View.Alarms, a.Type)
				}
			}
			delete(byURL, m.Listed.PeerURL)
		}
	}
	for ordinal := range int32(membership.MaxSize) { // a name of ours without a record and a pod
		name := f.Spec.MemberName(ordinal)
		if listed := byURL[f.Spec.PeerURL(name)]; listed != nil {
			f.Members = append(f.Members, membership.Member{Name: name, Listed: listed})
			delete(byURL, listed.PeerURL)
		}
	}
	f.SortMembers()
	for _, url := range slices.Sorted(maps.Keys(byURL)) {
		f.UnknownMembers = append(f.UnknownMembers, *byURL[url])
	}
}
