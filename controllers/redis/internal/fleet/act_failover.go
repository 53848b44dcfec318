package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/log"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/status"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// doPromote promotes a fenced node that has all confirmed writes, once the intent is saved.
func (f *Fleet) doPromote(ctx context.Context, s topology.Step) error {
	if err := f.saveIntent(ctx, s); err != nil {
		return err
	}
	return f.makeMaster(ctx, s.NodeNames[0])
}

// makeMaster promotes a fenced node, and then records it as master.
func (f *Fleet) makeMaster(ctx context.Context, name string) error {
	candidate, _ := f.Find(name)
	server := f.servers[candidate.Name]
	if !server.Look(ctx).Fenced() {
		return fmt.Errorf("%s is no longer fenced, or does not answer; another is chosen", candidate.Name)
	}
	if err := f.admit(ctx, server, candidate, nil); err != nil { // no replica confirms before it is recorded
		return err
	}
	if err := server.Promote(ctx, f.effectiveMinReplicas(candidate)); err != nil {
		return err
	}
	return f.recordPromotion(ctx, candidate)
}

// doSwitchOver moves the role of master without losing a write: once fenced, the old master takes no
// more writes and still feeds its replicas. If this fails half way, no server is master, and the
// next pass promotes a node that has all writes, as the old master does.
func (f *Fleet) doSwitchOver(ctx context.Context, s topology.Step) error {
	candidate, _ := f.Find(s.NodeNames[0])
	old, target := f.masterServer(), f.servers[candidate.Name]
	// If the master were fenced for one that lags far behind, no server would accept writes, and for nothing.
	if _, err := f.barrier(ctx, []cachev1alpha1.RedisProcess{candidate.Process()}); err != nil {
		return err
	}
	if err := f.saveIntent(ctx, s); err != nil {
		return err
	}
	if err := f.admit(ctx, target, candidate, nil); err != nil {
		return err
	}
	if err := errors.Join(old.Pause(ctx, catchUpTimeout), old.Fence(ctx)); err != nil {
		return err
	}
	last := old.Look(ctx) // its final offset
	if !last.Fenced() {
		return fmt.Errorf("%s did not let itself be fenced", f.Redis.Status.Replication.Master.Name)
	}
	if err := f.awaitOffset(ctx, candidate.Name, last.ReplID, last.Offset); err != nil {
		return fmt.Errorf("%s: %w", candidate.Name, err)
	}
	if err := target.Promote(ctx, f.effectiveMinReplicas(candidate)); err != nil {
		return err
	}
	err := f.recordPromotion(ctx, candidate)
	if f.ghostServer != nil { // no Service leads there any more
		err = errors.Join(err, f.ghostServer.KillClients(ctx))
	}
	return err
}

// doStepDown fences a master that its replicas do not hear, fences them too, and promotes one of them.
// If some have heard the master again by then, so that another should lead, it fails and the next pass decides.
func (f *Fleet) doStepDown(ctx context.Context, s topology.Step) error {
	if err := f.saveIntent(ctx, s); err != nil {
		return err
	}
	if err := f.masterServer().Fence(ctx); err != nil {
		return err
	}
	following := f.Where(func(m topology.Node) bool { return m.Answers() && !m.Master && !m.Fenced() })
	if err := forEach(topology.NamesOf(following), func(name string) error { return f.servers[name].Fence(ctx) }); err != nil {
		return err
	}
	f.ask(ctx) // by the same connections: nothing but execute dials again, and then asks for the record
	if next := f.Situation().Plan(); next.Do != topology.Promote || next.NodeNames[0] != s.NodeNames[0] {
		return fmt.Errorf("%s was to lead, and it would be %s (%s) now", s.NodeNames[0], next, cmp.Or(next.Message, next.Reason))
	}
	return f.makeMaster(ctx, s.NodeNames[0])
}

// saveIntent saves who is to become master, under an epoch higher than any before. If the promotion ends the data set, the same
// write says so: an operator that ends after the promotion cannot lose it.
func (f *Fleet) saveIntent(ctx context.Context, s topology.Step) error {
	f.Redis.Status.Epoch = max(f.Redis.Status.Epoch, f.MaxStampedEpoch()) + 1
	if status.EndsDataset(&f.Redis.Status, s) {
		f.Redis.Status.DatasetEpoch = f.Redis.Status.Epoch
	}
	f.Redis.Status.TargetMaster = s.NodeNames[0]
	f.Redis.Status.LastFailover = &cachev1alpha1.RedisFailover{
		Epoch: f.Redis.Status.Epoch, From: f.Redis.Status.Master, To: s.NodeNames[0],
		Reason: s.Reason, Evidence: s.Evidence, Unsafe: s.Unsafe, DetectedAt: *f.microNow(),
	}
	if rep := f.Redis.Status.Replication; rep != nil {
		f.Redis.Status.LastFailover.FromPodUID = rep.Master.PodUID
	}
	if s.Do != topology.SwitchOver { // until then no server accepts writes
		status.SetNoMaster(f.Redis, s.NodeNames[0]+" is becoming master")
	}
	return f.effects.Save(ctx)
}

// recordPromotion records the new master and the nodes that will follow it, then lets them follow.
func (f *Fleet) recordPromotion(ctx context.Context, candidate topology.Node) error {
	f.Redis.Status.LastFailover.PromotedAt = f.microNow()
	followers := f.followers(candidate)
	if err := f.noteMaster(ctx, candidate, followers); err != nil {
		return err
	}
	if err := f.saveMaster(ctx, candidate.Name); err != nil {
		return err
	}
	// The route must not wait for a follower that does not answer: the next pass
	// attaches it.
	if err := f.admitAndFollow(ctx, topology.NamesOf(followers)); err != nil {
		log.FromContext(ctx).Info("not attached yet", "error", err.Error())
	}
	return nil
}

// followers returns the nodes that the candidate will have as replicas at once.
func (f *Fleet) followers(candidate topology.Node) []topology.Node {
	return f.Where(func(m topology.Node) bool {
		return m.Name != candidate.Name && m.Answers() && !m.Deleting && config.Ordinal(m.Name) < f.Spec.Size
	})
}

// doRecordMaster records a node that is master already, with the nodes that follow it. What fails half way is not to be saved.
func (f *Fleet) doRecordMaster(ctx context.Context, s topology.Step) error {
	before, name := f.Redis.Status.DeepCopy(), s.NodeNames[0]
	if err := f.noteRecord(ctx, s, name); err != nil {
		f.Redis.Status = *before
		return err
	}
	return f.saveMaster(ctx, name)
}

// noteRecord puts into the status that the node is master. It saves nothing.
func (f *Fleet) noteRecord(ctx context.Context, s topology.Step, name string) error {
	current := &f.Redis.Status
	rep := current.Replication
	if rep != nil && s.Reason == commonv1.ReasonRecordOutdated {
		current.Epoch++
		current.LastFailover = &cachev1alpha1.RedisFailover{Epoch: current.Epoch, From: rep.Master.Name, FromPodUID: rep.Master.PodUID,
			To: name, Reason: s.Reason, Evidence: s.Evidence, DetectedAt: *f.microNow(), PromotedAt: f.microNow()}
	}
	current.Epoch = max(1, current.Epoch)
	if stamped := f.MaxStampedEpoch(); stamped > current.Epoch {
		current.Epoch = stamped + 1
	}
	if rep == nil || rep.Master.Name != name || !f.RecordedMaster(rep.Master).IsProcess(rep.Master) {
		return f.adoptMaster(ctx, name)
	}
	now, err := ensurePinned(ctx, f.masterServer(), name) // the same process, the same followers
	if err != nil {
		return err
	}
	if rep.Epoch = current.Epoch; rep.ReplID != now.ReplID {
		rep.ReplID, rep.StartOffset, rep.FormerReplID = now.ReplID, now.Offset, ""
	}
	return nil
}

// adoptMaster takes a master that was not recorded into the record. It may have admitted other nodes than
// those that follow it now: it refuses them from then on, and the barrier sees that all writes that they
// confirmed are with the followers in sync.
func (f *Fleet) adoptMaster(ctx context.Context, name string) error {
	master, _ := f.Find(name)
	followers := f.Where(func(m topology.Node) bool { return m.Follows(master.Address) })
	if err := f.noteMaster(ctx, master, followers); err != nil {
		return err
	}
	if err := f.admitOnly(ctx, f.Redis.Status.Replication.SyncSet); err != nil {
		return err
	}
	var synced []cachev1alpha1.RedisProcess
	for _, m := range followers {
		if m.InSync(master) {
			synced = append(synced, m.Process())
		}
	}
	_, err := f.barrier(ctx, synced)
	return err
}

// ensurePinned makes a master's replication ID final, if it is not yet, and returns a look at it.
func ensurePinned(ctx context.Context, server server, name string) (wire.View, error) {
	now := server.Look(ctx)
	if now.Master && !now.Pinned {
		if err := server.Pin(ctx); err != nil {
			return now, err
		}
		now = server.Look(ctx)
	}
	if !now.Master || !now.Pinned {
		return now, fmt.Errorf("%s does not answer as a master whose history is final; it is looked at again", name)
	}
	return now, nil
}

// noteMaster puts into the status who is master, of which history, and who may confirm its writes. It saves nothing.
func (f *Fleet) noteMaster(ctx context.Context, master topology.Node, followers []topology.Node) error {
	server := f.servers[master.Name]
	now, err := ensurePinned(ctx, server, master.Name)
	if err != nil {
		return err
	}
	former := ""
	if now.FormerOffset == now.Offset { // it has written nothing since
		former = now.FormerReplID
	}
	set := make([]cachev1alpha1.RedisProcess, 0, len(followers))
	for _, m := range followers {
		set = append(set, m.Process())
	}
	f.Redis.Status.Replication = &cachev1alpha1.RedisReplication{
		Epoch: f.Redis.Status.Epoch, ReplID: now.ReplID, StartOffset: now.Offset, FormerReplID: former, Master: master.Process(),
		SyncSet: sortByName(set), EffectiveMinReplicas: now.MinReplicas,
	}
	if f.Redis.Status.Restore != nil { // no backup is loaded over what this master takes
		f.Redis.Status.Restore.Phase, f.Redis.Status.Restore.Loader = cachev1alpha1.RedisRestoreCompleted, nil
	}
	return nil
}

// saveMaster saves the master on its volume first, then in the status: an operator that starts again
// from the volumes alone must not take the former master's volume for the newest.
func (f *Fleet) saveMaster(ctx context.Context, name string) error {
	f.Redis.Status.Master, f.Redis.Status.TargetMaster = name, name
	if err := f.WriteStamps(ctx, []string{name}); err != nil {
		return err
	}
	return f.effects.Save(ctx)
}

// effectiveMinReplicas returns the W that a master enforces from its promotion on. A new set
// starts with the W of the spec.
func (f *Fleet) effectiveMinReplicas(candidate topology.Node) int32 {
	rep := f.Redis.Status.Replication
	switch {
	case rep == nil:
		return f.Spec.MinReplicas
	case f.Spec.PrefersAvailability:
		return min(rep.EffectiveMinReplicas, int32(len(f.followers(candidate)))) //nolint:gosec // at most 8
	}
	return rep.EffectiveMinReplicas
}

// IsRouteNew reports whether the recorded master is the last one that was promoted, and it is not saved yet that clients are led to it.
func (f *Fleet) IsRouteNew() bool {
	last, rep := f.Redis.Status.LastFailover, f.Redis.Status.Replication
	return last != nil && last.RoutedAt == nil && last.To == f.Redis.Status.Master && rep != nil && rep.Epoch >= last.Epoch
}

// NoteRouted saves when clients were led to a new master.
func (f *Fleet) NoteRouted(ctx context.Context) error {
	f.Redis.Status.LastFailover.RoutedAt = f.microNow()
	if err := f.effects.Save(ctx); err != nil { // or the change would be reported again
		return err
	}
	f.SinceRouted = 0
	return nil
}
