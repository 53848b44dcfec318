package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/log"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// doPromote promotes a fenced node that has all confirmed writes, once the intent is saved.
func (r *Reconciler) doPromote(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, s topology.Step) error {
	if err := r.saveIntent(ctx, redis, f, s); err != nil {
		return err
	}
	return r.makeMaster(ctx, redis, f, s.NodeNames[0])
}

// makeMaster promotes a fenced node, and then records it as master.
func (r *Reconciler) makeMaster(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, name string) error {
	candidate, _ := f.Find(name)
	server := f.servers[candidate.Name]
	if !server.Look(ctx).Fenced() {
		return fmt.Errorf("%s is no longer fenced, or does not answer; another is chosen", candidate.Name)
	}
	if err := server.Admit(ctx, config.LoginUsers(), nil); err != nil { // nobody confirms before he is on record
		return err
	}
	if err := server.Promote(ctx, effectiveMinReplicas(redis, f, candidate)); err != nil {
		return err
	}
	return r.recordPromotion(ctx, redis, f, candidate)
}

// doSwitchOver moves the role of master without losing a write: once fenced, the old master takes no
// more writes and still feeds its replicas. If this fails half way, nobody is master, and the
// next pass promotes a node that has all writes, as the old master does.
func (r *Reconciler) doSwitchOver(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, s topology.Step) error {
	candidate, _ := f.Find(s.NodeNames[0])
	old, target := f.masterServer(redis), f.servers[candidate.Name]
	// Fenced for one that lags far behind, nobody would take writes, and for nothing.
	if _, err := barrier(ctx, redis, f, []cachev1alpha1.RedisProcess{candidate.Process()}); err != nil {
		return err
	}
	if err := r.saveIntent(ctx, redis, f, s); err != nil {
		return err
	}
	if err := target.Admit(ctx, config.LoginUsers(), nil); err != nil {
		return err
	}
	if err := errors.Join(old.Pause(ctx, catchUpTimeout), old.Fence(ctx)); err != nil {
		return err
	}
	last := old.Look(ctx) // its final offset
	if !last.Fenced() {
		return fmt.Errorf("%s did not let itself be fenced", redis.Status.Replication.Master.Name)
	}
	if err := f.awaitOffset(ctx, candidate.Name, last.ReplID, last.Offset); err != nil {
		return fmt.Errorf("%s: %w", candidate.Name, err)
	}
	if err := target.Promote(ctx, effectiveMinReplicas(redis, f, candidate)); err != nil {
		return err
	}
	err := r.recordPromotion(ctx, redis, f, candidate)
	if f.ghostServer != nil { // no Service leads there any more
		err = errors.Join(err, f.ghostServer.KillClients(ctx))
	}
	return err
}

// doStepDown fences a master that its replicas do not hear, fences them too, and promotes one of them.
// If some have heard the master again by then, so that another should lead, it fails and the next pass decides.
func (r *Reconciler) doStepDown(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, s topology.Step) error {
	if err := r.saveIntent(ctx, redis, f, s); err != nil {
		return err
	}
	if err := f.masterServer(redis).Fence(ctx); err != nil {
		return err
	}
	following := f.Where(func(m topology.Node) bool { return m.Answers() && !m.Master && !m.Fenced() })
	if err := forEach(topology.NamesOf(following), func(name string) error { return f.servers[name].Fence(ctx) }); err != nil {
		return err
	}
	f.look(ctx) // by the same connections: nothing but execute dials again, and then asks for the record
	if next := f.situation(redis).Plan(); next.Do != topology.Promote || next.NodeNames[0] != s.NodeNames[0] {
		return fmt.Errorf("%s was to lead, and it would be %s (%s) now", s.NodeNames[0], next, cmp.Or(next.Message, next.Reason))
	}
	return r.makeMaster(ctx, redis, f, s.NodeNames[0])
}

// saveIntent saves who is to become master, under an epoch higher than any before. If the promotion ends the data set, the same
// write says so: an operator that ends after the promotion cannot lose it.
func (r *Reconciler) saveIntent(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, s topology.Step) error {
	redis.Status.Epoch = max(redis.Status.Epoch, f.MaxStampedEpoch()) + 1
	if endsDataset(&redis.Status, s) {
		redis.Status.DatasetEpoch = redis.Status.Epoch
	}
	redis.Status.TargetMaster = s.NodeNames[0]
	redis.Status.LastFailover = &cachev1alpha1.RedisFailover{
		Epoch: redis.Status.Epoch, From: redis.Status.Master, To: s.NodeNames[0],
		Reason: s.Reason, Evidence: s.Evidence, Unsafe: s.Unsafe, DetectedAt: *r.microNow(),
	}
	if rep := redis.Status.Replication; rep != nil {
		redis.Status.LastFailover.FromPodUID = rep.Master.PodUID
	}
	if s.Do != topology.SwitchOver { // until then nobody takes writes
		setNoMaster(redis, s.NodeNames[0]+" is becoming master")
	}
	return f.save(ctx)
}

// recordPromotion records the new master and the nodes that will follow it, then lets them follow.
func (r *Reconciler) recordPromotion(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, candidate topology.Node) error {
	redis.Status.LastFailover.PromotedAt = r.microNow()
	followers := f.followers(candidate)
	if err := noteMaster(ctx, redis, f, candidate, followers); err != nil {
		return err
	}
	if err := saveMaster(ctx, redis, f, candidate.Name); err != nil {
		return err
	}
	// The route must not wait for a follower that does not answer: the next pass
	// attaches it.
	if err := r.admitAndFollow(ctx, redis, f, topology.NamesOf(followers)); err != nil {
		log.FromContext(ctx).Info("not attached yet", "error", err.Error())
	}
	return nil
}

// followers returns the nodes that the candidate will have as replicas at once.
func (f *fleet) followers(candidate topology.Node) []topology.Node {
	return f.Where(func(m topology.Node) bool {
		return m.Name != candidate.Name && m.Answers() && !m.Deleting && config.Ordinal(m.Name) < f.spec.Size
	})
}

// doRecordMaster records a node that is master already, with the nodes that follow it.
func (r *Reconciler) doRecordMaster(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, s topology.Step) error {
	name, next := s.NodeNames[0], redis.DeepCopy() // what fails half way is not to be saved
	status := &next.Status
	rep := status.Replication
	if rep != nil && s.Reason == commonv1.ReasonRecordOutdated {
		status.Epoch++
		status.LastFailover = &cachev1alpha1.RedisFailover{Epoch: status.Epoch, From: rep.Master.Name, FromPodUID: rep.Master.PodUID,
			To: name, Reason: s.Reason, Evidence: s.Evidence, DetectedAt: *r.microNow(), PromotedAt: r.microNow()}
	}
	status.Epoch = max(1, status.Epoch)
	if stamped := f.MaxStampedEpoch(); stamped > status.Epoch {
		status.Epoch = stamped + 1
	}
	if rep != nil && rep.Master.Name == name && f.World.RecordedMaster(rep.Master).IsProcess(rep.Master) { // the same process, the same followers
		now, err := ensurePinned(ctx, f.masterServer(redis), name)
		if err != nil {
			return err
		}
		if rep.Epoch = status.Epoch; rep.ReplID != now.ReplID {
			rep.ReplID, rep.StartOffset, rep.FormerReplID = now.ReplID, now.Offset, ""
		}
	} else if err := r.adoptMaster(ctx, next, f, name); err != nil {
		return err
	}
	redis.Status = next.Status
	return saveMaster(ctx, redis, f, name)
}

// adoptMaster takes a master that was not on record into the record. It may have admitted other nodes than
// those that follow it now: it refuses them from then on, and the barrier sees that all writes that they
// confirmed are with the followers in sync.
func (r *Reconciler) adoptMaster(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, name string) error {
	master, _ := f.Find(name)
	followers := f.Where(func(m topology.Node) bool { return m.Follows(master.Address) })
	if err := noteMaster(ctx, redis, f, master, followers); err != nil {
		return err
	}
	if err := r.admitOnly(ctx, redis, f, redis.Status.Replication.SyncSet); err != nil {
		return err
	}
	var synced []cachev1alpha1.RedisProcess
	for _, m := range followers {
		if m.InSync(master) {
			synced = append(synced, m.Process())
		}
	}
	_, err := barrier(ctx, redis, f, synced)
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
func noteMaster(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, master topology.Node, followers []topology.Node) error {
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
	redis.Status.Replication = &cachev1alpha1.RedisReplication{
		Epoch: redis.Status.Epoch, ReplID: now.ReplID, StartOffset: now.Offset, FormerReplID: former, Master: master.Process(),
		SyncSet: sortByName(set), EffectiveMinReplicas: now.MinReplicas,
	}
	if redis.Status.Restore != nil { // no backup is loaded over what this master takes
		redis.Status.Restore.Phase, redis.Status.Restore.Loader = cachev1alpha1.RedisRestoreCompleted, nil
	}
	return nil
}

// saveMaster saves the master on its volume first, then in the status: whoever begins again
// from the volumes alone must not take the former master's volume for the newest.
func saveMaster(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, name string) error {
	redis.Status.Master, redis.Status.TargetMaster = name, name
	if err := writeStamps(ctx, redis, f, []string{name}); err != nil {
		return err
	}
	return f.save(ctx)
}

// effectiveMinReplicas returns the W that a master enforces from its promotion on. A new set
// begins with the W of the spec.
func effectiveMinReplicas(redis *cachev1alpha1.Redis, f *fleet, candidate topology.Node) int32 {
	rep := redis.Status.Replication
	switch {
	case rep == nil:
		return f.spec.MinReplicas
	case f.spec.PrefersAvailability:
		return min(rep.EffectiveMinReplicas, int32(len(f.followers(candidate)))) //nolint:gosec // at most 8
	}
	return rep.EffectiveMinReplicas
}
