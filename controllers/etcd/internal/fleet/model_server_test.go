package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/launcher/wal"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/wire"
)

var errCrashed = errors.New("the operator was killed")

// modelEffects are a pass's effects on the model. The pass is killed after a call.
type modelEffects struct {
	*model
	object  *databasev1alpha1.EtcdCluster
	version int               // of the object that the pass has read
	seen    *membership.World // by a sleeper; nil for a pass that acts on what there is
	// seenPods are those that the sleeper saw.
	seenPods [membership.MaxSize]modelPod
	calls    int // so far
	dieAfter int // the call that it does not survive; 0 for none
}

// call does one call, unless the pass is killed at it.
func (m *modelEffects) call(do func() error) error {
	m.calls++
	err := do()
	if m.calls == m.dieAfter {
		return errCrashed
	}
	return err
}

func (m *modelEffects) Save(context.Context) error {
	return m.call(func() error {
		if m.version != m.Version {
			return errors.New("the object has changed")
		}
		if err := m.choose(m.object.Status.TargetVersion); err != nil {
			return err
		}
		m.Version++
		m.version = m.Version
		m.setStatus(m.object.Status.DeepCopy())
		m.object.Status = *m.Status.DeepCopy() // as the server's answer replaces what the pass held
		return nil
	})
}

func (m *modelEffects) Confirm(context.Context) error {
	if m.version != m.Version {
		return errors.New("the object has changed")
	}
	return nil
}

func (m *modelEffects) NewID() string { return fmt.Sprintf("i%d", m.newID()) }

func (m *modelEffects) DeletePod(_ context.Context, name string, asSeen bool) error {
	return m.call(func() error {
		if asSeen && m.hasChanged(ordinalOf(name)) {
			return ErrPodChanged
		}
		return m.removeExactly(ordinalOf(name))
	})
}

func (m *modelEffects) ConfirmClaim(_ context.Context, pod string, claim types.UID) error {
	return m.call(func() error {
		if i := ordinalOf(pod); m.Going[i] || m.claimUID(i) != claim {
			return ErrClaimGoes
		}
		return nil
	})
}

// seenPod is the pod at that ordinal as a sleeper has seen it.
func (m *modelEffects) seenPod(i int) membership.Pod {
	one, _ := m.seen.Find(m.spec().MemberName(int32(i))) //nolint:gosec // at most 5
	return one.Pod
}

// removeExactly removes the pod that was looked at, and no other that came in its place.
func (m *modelEffects) removeExactly(i int) error {
	if m.seen != nil && m.seenPod(i).UID != types.UID(m.Pods[i].UID) {
		return errors.New("the pod is another")
	}
	if err := m.checkOnlyCopy(i); err != nil {
		return err
	}
	m.removePod(i)
	return nil
}

func (m *modelEffects) EvictPod(_ context.Context, name string) error {
	return m.call(func() error {
		if !m.evicts(ordinalOf(name)) {
			return ErrNoDisruptionAllowed
		}
		return m.removeExactly(ordinalOf(name))
	})
}

// claimUID is that of the claim at an ordinal.
func (m *model) claimUID(i int) types.UID { return types.UID(fmt.Sprintf("claim-%d", m.Claims[i])) }

func (m *modelEffects) WritePermit(_ context.Context, name, permit string, claim types.UID) error {
	return m.call(func() error {
		i := ordinalOf(name)
		if m.Storage && claim != m.claimUID(i) {
			return errStale
		}
		if p := m.Pods[i]; m.seen != nil && (m.seenPod(i).UID != types.UID(p.UID) || m.seenPod(i).Permit != p.Permit) {
			return errors.New("the pod has changed")
		}
		m.Pods[i].Permit = permit
		m.mark(i, m.object.Status.Membership.Token)
		return nil
	})
}

// removePod takes a pod away, and without storage its data. A claim that was deleted goes with it.
func (m *model) removePod(i int) {
	m.Pods[i], m.Below[i] = modelPod{}, 0
	if !m.Storage {
		m.Volumes[i] = modelData{}
	}
	if m.Going[i] {
		m.dropClaim(i)
	}
}

// modelServer is the server of a pod.
type modelServer struct {
	*modelEffects
	ordinal int
}

func (m *modelServer) Look(context.Context) membership.View {
	v := m.Volumes[m.ordinal]
	if !m.Pods[m.ordinal].Serves || v.ID == 0 {
		return membership.View{}
	}
	view := membership.View{Answered: true, ID: v.ID, ClusterID: clusterID(v.Token), Version: modelVersions[m.Pods[m.ordinal].Minor],
		ClusterVersion: modelVersions[m.Agreed].MinorString(),
		Index:          v.index(), Revision: int64(1 + v.Writes)}
	if one := m.raft(v.ID); one != nil {
		view.IsLearner = one.Learner
	}
	if m.hasQuorum() && v.Token == m.Token {
		view.Leader = m.leader()
	}
	m.showSpace(m.ordinal, &view)
	return view
}

// index is the last entry of the log. One that forms the cluster starts with the list of its members.
func (m modelData) index() uint64 {
	if m.Formed {
		return uint64(membership.MaxSize + m.Writes) //nolint:gosec // small
	}
	return uint64(m.Writes) //nolint:gosec // small
}

// clusterID of the cluster with that token, which newID has made.
func clusterID(token string) uint64 {
	id, _ := strconv.ParseUint(strings.TrimPrefix(token, "i"), 10, 64)
	return id
}

// hears reports whether a server serves clients, and hears of a majority.
func (m *modelServer) hears() bool {
	return m.Pods[m.ordinal].Serves && m.Volumes[m.ordinal].Token == m.Token && m.hasQuorum()
}

// LookAtWaiting reports the data that it runs with.
func (m *modelServer) LookAtWaiting(context.Context) (membership.View, error) {
	v := m.Volumes[m.ordinal]
	if !m.Pods[m.ordinal].Runs || v.ID == 0 {
		return membership.View{}, nil
	}
	return membership.View{Waits: true, ID: v.ID, Index: v.index(), Revision: int64(1 + v.Writes),
		Version: modelVersions[m.Pods[m.ordinal].Minor], ClusterVersion: modelVersions[m.Agreed].MinorString()}, nil
}

// openToClients has servers answer clients that see a majority.
func (m *model) openToClients() {
	for i := range m.Pods {
		p, one := &m.Pods[i], m.raft(m.Volumes[i].ID)
		p.Serves = p.Runs && (p.Serves || one != nil && m.hasQuorum())
		if m.Quota > 0 { // compactions go by revisions
			m.catchUp(i)
		}
	}
	m.agree()
}

// leader is the voter to whom the lead was moved last, while it runs; else the first one that runs.
func (m *model) leader() uint64 {
	if one := m.raft(m.Lead); one != nil && !one.Learner && m.runs(ordinalOf(one.Name), one.ID) {
		return one.ID
	}
	for _, item := range m.Raft {
		if !item.Learner && m.runs(ordinalOf(item.Name), item.ID) {
			return item.ID
		}
	}
	return 0
}

var errNoQuorum = errors.New("no majority")

func (m *modelServer) Members(context.Context) ([]membership.ListedMember, error) {
	if !m.hears() {
		return nil, errNoQuorum
	}
	var list []membership.ListedMember
	for _, item := range m.Raft {
		listed := membership.ListedMember{ID: item.ID, PeerURL: m.spec().PeerURL(item.Name), IsLearner: item.Learner}
		if item.Started {
			listed.Name = item.Name
		}
		list = append(list, listed)
	}
	return list, nil
}

// change does a change of the members, which takes a majority.
func (m *modelServer) change(do func() error) error {
	return m.call(func() error {
		if !m.hears() || !m.write() {
			return errNoQuorum
		}
		return do()
	})
}

func (m *modelServer) AddLearner(_ context.Context, peerURL string) (id uint64, err error) {
	err = m.change(func() error {
		for ordinal := range int32(membership.MaxSize) {
			if name := m.spec().MemberName(ordinal); m.spec().PeerURL(name) == peerURL {
				id = uint64(m.newID()) //nolint:gosec // small
				m.Raft = append(m.Raft, modelMember{ID: id, Name: name, Learner: true})
			}
		}
		return nil
	})
	return id, err
}

func (m *modelServer) Remove(_ context.Context, id uint64) error {
	return m.change(func() error {
		one := m.raft(id)
		if one == nil {
			return nil
		}
		others, running := 0, 0
		for _, other := range m.Raft {
			if other.ID != id && !other.Learner {
				others++
				if m.runs(ordinalOf(other.Name), other.ID) {
					running++
				}
			}
		}
		if running <= others/2 {
			return wire.ErrUnhealthy // as etcd does
		}
		if i := ordinalOf(one.Name); m.runs(i, id) {
			m.Pods[i].Runs = false
		}
		m.Raft = slices.DeleteFunc(m.Raft, func(other modelMember) bool { return other.ID == id })
		return nil
	})
}

func (m *modelServer) Promote(_ context.Context, id uint64) error {
	return m.change(func() error {
		one := m.raft(id)
		if one == nil || !one.Learner {
			return nil
		}
		if !m.runs(ordinalOf(one.Name), id) {
			return wire.ErrLearnerBehind
		}
		one.Learner = false
		return nil
	})
}

func (m *modelServer) MoveLeader(_ context.Context, to uint64) error {
	return m.call(func() error {
		if !m.hears() {
			return errNoQuorum
		}
		m.Lead = to
		return nil
	})
}

func (*modelServer) WriteEntries(context.Context, int) error { return nil }

func (*modelServer) Close() {}

// recordOf is what the status has of that member; nil if there is nothing.
func recordOf(e *databasev1alpha1.EtcdCluster, name string) *databasev1alpha1.EtcdRecordedMember {
	if e.Status.Membership != nil {
		for i := range e.Status.Membership.Members {
			if one := &e.Status.Membership.Members[i]; one.Name == name {
				return one
			}
		}
	}
	return nil
}

// fleet is what a pass sees now.
func (m *model) fleet(e *databasev1alpha1.EtcdCluster, outside *modelEffects) *Fleet {
	cached := m.cachedPods()
	f := &Fleet{Cluster: e, Spec: m.cachedObject().spec(), Effects: outside, servers: map[string]server{}, Memory: m.memory(),
		Clock: clocktesting.NewFakePassiveClock(time.Unix(0, 0))}
	cached.lookAtRestores(e, f)
	f.Backups = cached.lookAtBackups()
	f.Claims = cached.claims()
	record := e.Status.Membership
	for ordinal := range membership.MaxSize {
		name, p := m.spec().MemberName(int32(ordinal)), cached.Pods[ordinal] //nolint:gosec // at most 5
		one := membership.Member{Name: name, Record: recordOf(e, name)}
		if p.isUnknown(one.Record) {
			if p = (modelPod{}); record == nil {
				f.FormerPods = append(f.FormerPods, name)
			}
		}
		if p.UID != "" {
			one.Pod = cached.observedPod(ordinal)
			if p.UID == m.Pods[ordinal].UID { // at the address of one that is gone no one answers
				f.servers[name] = &modelServer{outside, ordinal}
			}
		}
		if one.Record != nil || p.UID != "" || record != nil && record.Change != nil && record.Change.Name == name {
			f.Members = append(f.Members, one)
		}
	}
	f.Look(context.Background())
	return f
}

// observedPod is the pod at an ordinal as a pass reads it.
func (m *model) observedPod(ordinal int) membership.Pod {
	p := m.Pods[ordinal]
	pod := membership.Pod{UID: types.UID(p.UID), Container: p.UID, Address: "10.0.0.1", Permit: p.Permit, LostData: p.Lost, Foreign: p.Foreign,
		Ready: p.Runs, HasRun: p.Ran, Stopped: p.Ran && !p.Runs && !p.Silent, NeverRan: !p.Ran && !p.Silent,
		Fails: p.Broken != 0 && !p.Runs, ClaimGoes: m.Going[ordinal], RecoveredTo: int64(m.Below[ordinal]),
		Outdated: p.Outdate || p.Minor != m.Template || p.Broken != m.TemplateBroken, Image: p.imageOf()}
	if p.Broken == isUnschedulable {
		pod.Address = ""
	}
	if m.Storage {
		pod.ClaimUID = m.claimUID(ordinal)
	}
	if p.Earlier > 0 {
		pod.Earlier = &wal.End{Index: p.Earlier}
	}
	return pod
}

func (*modelEffects) WarnOfSource(string) {}

func (*modelServer) LookAtAccess(context.Context, []wire.User, bool) (membership.Access, error) {
	return membership.Access{}, nil
}

func (*modelServer) AddRole(context.Context) error { return nil }

func (*modelServer) SetUser(context.Context, wire.User) error { return nil }

func (*modelServer) DropUser(context.Context, string) error { return nil }

func (*modelServer) RequireLogin(context.Context) error { return nil }

func (*modelServer) HashData(context.Context) (membership.DataHash, error) {
	return membership.DataHash{}, nil
}
