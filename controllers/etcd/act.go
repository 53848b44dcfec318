package etcd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/wire"
)

// act carries out the steps of one verb.
type act func(*pass, context.Context, membership.Step) error

// acts has what carries out each verb that acts.
var acts = map[membership.Verb]act{
	membership.Form:                saved((*pass).recordForming),
	membership.StartMember:         saved((*pass).recordStart),
	membership.RecordIDs:           saved((*pass).recordIDs),
	membership.AdoptMember:         saved((*pass).recordAsItRuns),
	membership.ForgetMember:        saved((*pass).recordLeave),
	membership.WithdrawChange:      saved((*pass).recordNoChange),
	membership.EndRecovery:         saved((*pass).recordNoChange),
	membership.Recover:             saved((*pass).recordRecovery),
	membership.RecordLogin:         saved((*pass).recordLogin),
	membership.LimitLog:            saved((*pass).recordLogLimit),
	membership.AddMember:           (*pass).doAdd,
	membership.RemoveMember:        (*pass).doRemove,
	membership.PromoteMember:       (*pass).doPromote,
	membership.MoveLeader:          (*pass).doMoveLeader,
	membership.DeletePod:           (*pass).doDeletePod,
	membership.EvictPod:            (*pass).doEvictPod,
	membership.AddRole:             (*pass).doAddRole,
	membership.SetUser:             (*pass).doSetUser,
	membership.DropUser:            (*pass).doDropUser,
	membership.RequireLogin:        (*pass).doRequireLogin,
	membership.Compact:             (*pass).doCompact,
	membership.Defragment:          (*pass).doDefragment,
	membership.Disarm:              (*pass).doDisarm,
	membership.WriteEntries:        (*pass).doWriteEntries,
	membership.SetVersion:          (*pass).doSetVersion,
	membership.CreateUpgradeBackup: (*pass).doCreateUpgradeBackup,
	membership.DeleteUpgradeBackup: (*pass).doDeleteUpgradeBackup,
	membership.CreateFetchPod:      (*pass).doCreateFetchPod,
	membership.DeleteFetchPod:      (*pass).doDeleteFetchPod,
	membership.StartRestore:        (*pass).doStartRestore,
	membership.EndRestore:          (*pass).doEndRestore,
}

// execute performs the step, if it acts.
func (p *pass) execute(ctx context.Context) error {
	s := p.step
	if s.Changes() || s.RemovesPod() {
		log.FromContext(ctx).Info("step", "do", s.Do, "member", s.Member, "target", s.Target, "version", s.Version, "message", s.Message)
	}
	if !s.Acts() {
		return nil
	}
	carryOut, ok := acts[s.Do]
	if !ok {
		return fmt.Errorf("no act is known for %q", s.Do)
	}
	return carryOut(p, ctx, s)
}

func (f *fleet) doMoveLeader(ctx context.Context, s membership.Step) error {
	m, _ := f.Find(s.Target)
	return f.servers[s.Member].MoveLeader(ctx, m.Listed.ID)
}

func (f *fleet) doEvictPod(ctx context.Context, s membership.Step) error {
	return f.evictPod(ctx, s.Member)
}

// outcome is what users are shown of a step, and its error if it failed.
func outcome(s membership.Step, err error) (membership.Step, error) {
	var blocked *evictionBlockedError
	switch {
	case err == nil:
		return s, nil
	case isWaiting(err):
		return membership.Step{Do: membership.Wait, Message: err.Error(), RequeueAfter: waitTime(err)}, nil
	case errors.As(err, &blocked):
		return blocked.step(), nil
	}
	return s, fmt.Errorf("%s: %w", s.Phrase(), err)
}

// isWaiting reports whether an error only says that something must end by itself first.
func isWaiting(err error) bool {
	return errors.Is(err, wire.ErrLearnerBehind) || errors.Is(err, wire.ErrUnhealthy) || errors.Is(err, wire.ErrBusy) ||
		errors.Is(err, errNoneToSpare) ||
		errors.Is(err, errWithdrawn) || errors.Is(err, errPodChanged) || errors.Is(err, errNotBackedUp)
}

// waitTime is how soon to try again what must wait.
func waitTime(err error) time.Duration {
	if errors.Is(err, errNoneToSpare) { // until a pod is ready; meanwhile only the API server is asked in vain
		return time.Second
	}
	return membership.ShortRequeue
}

// doDeletePod deletes a pod. One that goes only as it was seen stays if its server answers now: the kubelet reports a start later than
// etcd serves.
func (f *fleet) doDeletePod(ctx context.Context, s membership.Step) error {
	if server := f.servers[s.Member]; s.AsSeen && server != nil && answersNow(ctx, server) {
		return errPodChanged
	}
	return f.deletePod(ctx, s.Member, s.AsSeen)
}

// answersNow looks at a server once more, before its pod goes.
func answersNow(ctx context.Context, server server) bool {
	ctx, done := context.WithTimeout(ctx, lookLimit)
	defer done()
	return server.Look(ctx).IsOfServer()
}

// doAdd saves what is about to be added, adds it, and saves its ID. Done again after it was cut short, it finds by the peer URL
// what it had added.
func (f *fleet) doAdd(ctx context.Context, s membership.Step) error {
	if f.cluster.Status.Membership.Change == nil {
		f.cluster.Status.Membership.Change = &databasev1alpha1.EtcdMembershipChange{Type: databasev1alpha1.EtcdAdd, Name: s.Member,
			DataID: f.newID()}
		if err := f.save(ctx); err != nil {
			return err
		}
	}
	server, err := f.anyVoter()
	if err != nil {
		return err
	}
	id, err := findOrAdd(ctx, server, f.spec.PeerURL(s.Member))
	if err != nil {
		return err
	}
	record := f.cluster.Status.Membership // as the save has left it
	addMember(record, databasev1alpha1.EtcdRecordedMember{
		Name: s.Member, ID: membership.FormatID(id), DataID: record.Change.DataID, Joined: true,
	})
	record.Change = nil
	return f.save(ctx)
}

// findOrAdd returns the ID of the member with that peer URL, which it adds as a learner if there is none.
func findOrAdd(ctx context.Context, server server, peerURL string) (uint64, error) {
	list, err := server.Members(ctx)
	if err != nil {
		return 0, err
	}
	if i := slices.IndexFunc(list, func(m membership.ListedMember) bool { return m.PeerURL == peerURL }); i >= 0 {
		return list[i].ID, nil
	}
	return server.AddLearner(ctx, peerURL)
}

// doRemove saves which member is about to be removed, removes it by its ID, and saves that it is gone.
func (f *fleet) doRemove(ctx context.Context, s membership.Step) error {
	if f.cluster.Status.Membership.Change == nil {
		m, _ := f.Find(s.Member)
		f.cluster.Status.Membership.Change = &databasev1alpha1.EtcdMembershipChange{Type: databasev1alpha1.EtcdRemove, Name: s.Member,
			ID: m.CurrentID()}
		if err := f.save(ctx); err != nil {
			return err
		}
	}
	record := f.cluster.Status.Membership // as the save has left it
	server, err := f.anyVoter()
	if err != nil {
		return err
	}
	id, err := membership.ParseID(record.Change.ID)
	if err != nil {
		return fmt.Errorf("status.membership.change.id: %w", err)
	}
	if err := server.Remove(ctx, id); err != nil {
		return err
	}
	forget(record, s.Member)
	record.Change = nil
	return f.save(ctx)
}

func (f *fleet) doPromote(ctx context.Context, s membership.Step) error {
	m, _ := f.Find(s.Member)
	server, err := f.anyVoter()
	if err != nil {
		return err
	}
	if err := server.Promote(ctx, m.Listed.ID); err != nil {
		return err
	}
	m.Record.Ran = true // it has caught up, so its data is there
	return f.save(ctx)
}

// anyVoter returns a server that can change members: it passes requests on to the leader.
func (f *fleet) anyVoter() (server, error) {
	if leader, ok := f.Leader(); ok {
		return f.servers[leader.Name], nil
	}
	for _, m := range f.Where(func(m membership.Member) bool { return m.IsVoter() && m.IsHealthy() }) {
		return f.servers[m.Name], nil
	}
	return nil, errors.New("no voter answers")
}

// relink has the members point to what is recorded now: a step may have put another record in its place.
func (f *fleet) relink() {
	for i := range f.Members {
		f.Members[i].Record = nil
		for j := 0; f.cluster.Status.Membership != nil && j < len(f.cluster.Status.Membership.Members); j++ {
			if recorded := &f.cluster.Status.Membership.Members[j]; recorded.Name == f.Members[i].Name {
				f.Members[i].Record = recorded
			}
		}
	}
}

// writePermits writes on each pod whether and how it may start.
func (f *fleet) writePermits(ctx context.Context) error {
	f.relink()
	permits := f.situation().MissingPermits()
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(permits)) {
		m, _ := f.Find(name)
		errs = append(errs, f.writePermit(ctx, name, permits[name], m.Pod.ClaimUID))
	}
	return errors.Join(errs...)
}
