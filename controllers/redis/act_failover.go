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
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/status"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// doPromote promotes a fenced node that has all confirmed writes, once the intent is saved.
func (p *pass) doPromote(ctx context.Context, s topology.Step) error {
	if err := p.saveIntent(ctx, s); err != nil {
		return err
	}
	return p.makeMaster(ctx, s.NodeNames[0])
}

// makeMaster promotes a fenced node, and then records it as master.
func (p *pass) makeMaster(ctx context.Context, name string) error {
	candidate, _ := p.Find(name)
	server := p.servers[candidate.Name]
	if !server.Look(ctx).Fenced() {
		return fmt.Errorf("%s is no longer fenced, or does not answer; another is chosen", candidate.Name)
	}
	if err := server.Admit(ctx, config.LoginUsers(), nil); err != nil { // no replica confirms before it is recorded
		return err
	}
	if err := server.Promote(ctx, p.effectiveMinReplicas(candidate)); err != nil {
		return err
	}
	return p.recordPromotion(ctx, candidate)
}

// doSwitchOver moves the role of master without losing a write: once fenced, the old master takes no
// more writes and still feeds its replicas. If this fails half way, no server is master, and the
// next pass promotes a node that has all writes, as the old master does.
func (p *pass) doSwitchOver(ctx context.Context, s topology.Step) error {
	candidate, _ := p.Find(s.NodeNames[0])
	old, target := p.masterServer(), p.servers[candidate.Name]
	// If the master were fenced for one that lags far behind, no server would accept writes, and for nothing.
	if _, err := p.barrier(ctx, []cachev1alpha1.RedisProcess{candidate.Process()}); err != nil {
		return err
	}
	if err := p.saveIntent(ctx, s); err != nil {
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
		return fmt.Errorf("%s did not let itself be fenced", p.redis.Status.Replication.Master.Name)
	}
	if err := p.awaitOffset(ctx, candidate.Name, last.ReplID, last.Offset); err != nil {
		return fmt.Errorf("%s: %w", candidate.Name, err)
	}
	if err := target.Promote(ctx, p.effectiveMinReplicas(candidate)); err != nil {
		return err
	}
	err := p.recordPromotion(ctx, candidate)
	if p.ghostServer != nil { // no Service leads there any more
		err = errors.Join(err, p.ghostServer.KillClients(ctx))
	}
	return err
}

// doStepDown fences a master that its replicas do not hear, fences them too, and promotes one of them.
// If some have heard the master again by then, so that another should lead, it fails and the next pass decides.
func (p *pass) doStepDown(ctx context.Context, s topology.Step) error {
	if err := p.saveIntent(ctx, s); err != nil {
		return err
	}
	if err := p.masterServer().Fence(ctx); err != nil {
		return err
	}
	following := p.Where(func(m topology.Node) bool { return m.Answers() && !m.Master && !m.Fenced() })
	if err := forEach(topology.NamesOf(following), func(name string) error { return p.servers[name].Fence(ctx) }); err != nil {
		return err
	}
	p.ask(ctx) // by the same connections: nothing but execute dials again, and then asks for the record
	if next := p.situation().Plan(); next.Do != topology.Promote || next.NodeNames[0] != s.NodeNames[0] {
		return fmt.Errorf("%s was to lead, and it would be %s (%s) now", s.NodeNames[0], next, cmp.Or(next.Message, next.Reason))
	}
	return p.makeMaster(ctx, s.NodeNames[0])
}

// saveIntent saves who is to become master, under an epoch higher than any before. If the promotion ends the data set, the same
// write says so: an operator that ends after the promotion cannot lose it.
func (p *pass) saveIntent(ctx context.Context, s topology.Step) error {
	p.redis.Status.Epoch = max(p.redis.Status.Epoch, p.MaxStampedEpoch()) + 1
	if status.EndsDataset(&p.redis.Status, s) {
		p.redis.Status.DatasetEpoch = p.redis.Status.Epoch
	}
	p.redis.Status.TargetMaster = s.NodeNames[0]
	p.redis.Status.LastFailover = &cachev1alpha1.RedisFailover{
		Epoch: p.redis.Status.Epoch, From: p.redis.Status.Master, To: s.NodeNames[0],
		Reason: s.Reason, Evidence: s.Evidence, Unsafe: s.Unsafe, DetectedAt: *p.microNow(),
	}
	if rep := p.redis.Status.Replication; rep != nil {
		p.redis.Status.LastFailover.FromPodUID = rep.Master.PodUID
	}
	if s.Do != topology.SwitchOver { // until then no server accepts writes
		status.SetNoMaster(p.redis, s.NodeNames[0]+" is becoming master")
	}
	return p.save(ctx)
}

// recordPromotion records the new master and the nodes that will follow it, then lets them follow.
func (p *pass) recordPromotion(ctx context.Context, candidate topology.Node) error {
	p.redis.Status.LastFailover.PromotedAt = p.microNow()
	followers := p.followers(candidate)
	if err := p.noteMaster(ctx, candidate, followers); err != nil {
		return err
	}
	if err := p.saveMaster(ctx, candidate.Name); err != nil {
		return err
	}
	// The route must not wait for a follower that does not answer: the next pass
	// attaches it.
	if err := p.admitAndFollow(ctx, topology.NamesOf(followers)); err != nil {
		log.FromContext(ctx).Info("not attached yet", "error", err.Error())
	}
	return nil
}

// followers returns the nodes that the candidate will have as replicas at once.
func (p *pass) followers(candidate topology.Node) []topology.Node {
	return p.Where(func(m topology.Node) bool {
		return m.Name != candidate.Name && m.Answers() && !m.Deleting && config.Ordinal(m.Name) < p.spec.Size
	})
}

// doRecordMaster records a node that is master already, with the nodes that follow it. What fails half way is not to be saved.
func (p *pass) doRecordMaster(ctx context.Context, s topology.Step) error {
	before, name := p.redis.Status.DeepCopy(), s.NodeNames[0]
	if err := p.noteRecord(ctx, s, name); err != nil {
		p.redis.Status = *before
		return err
	}
	return p.saveMaster(ctx, name)
}

// noteRecord puts into the status that the node is master. It saves nothing.
func (p *pass) noteRecord(ctx context.Context, s topology.Step, name string) error {
	current := &p.redis.Status
	rep := current.Replication
	if rep != nil && s.Reason == commonv1.ReasonRecordOutdated {
		current.Epoch++
		current.LastFailover = &cachev1alpha1.RedisFailover{Epoch: current.Epoch, From: rep.Master.Name, FromPodUID: rep.Master.PodUID,
			To: name, Reason: s.Reason, Evidence: s.Evidence, DetectedAt: *p.microNow(), PromotedAt: p.microNow()}
	}
	current.Epoch = max(1, current.Epoch)
	if stamped := p.MaxStampedEpoch(); stamped > current.Epoch {
		current.Epoch = stamped + 1
	}
	if rep == nil || rep.Master.Name != name || !p.RecordedMaster(rep.Master).IsProcess(rep.Master) {
		return p.adoptMaster(ctx, name)
	}
	now, err := ensurePinned(ctx, p.masterServer(), name) // the same process, the same followers
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
func (p *pass) adoptMaster(ctx context.Context, name string) error {
	master, _ := p.Find(name)
	followers := p.Where(func(m topology.Node) bool { return m.Follows(master.Address) })
	if err := p.noteMaster(ctx, master, followers); err != nil {
		return err
	}
	if err := p.admitOnly(ctx, p.redis.Status.Replication.SyncSet); err != nil {
		return err
	}
	var synced []cachev1alpha1.RedisProcess
	for _, m := range followers {
		if m.InSync(master) {
			synced = append(synced, m.Process())
		}
	}
	_, err := p.barrier(ctx, synced)
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
func (p *pass) noteMaster(ctx context.Context, master topology.Node, followers []topology.Node) error {
	server := p.servers[master.Name]
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
	p.redis.Status.Replication = &cachev1alpha1.RedisReplication{
		Epoch: p.redis.Status.Epoch, ReplID: now.ReplID, StartOffset: now.Offset, FormerReplID: former, Master: master.Process(),
		SyncSet: sortByName(set), EffectiveMinReplicas: now.MinReplicas,
	}
	if p.redis.Status.Restore != nil { // no backup is loaded over what this master takes
		p.redis.Status.Restore.Phase, p.redis.Status.Restore.Loader = cachev1alpha1.RedisRestoreCompleted, nil
	}
	return nil
}

// saveMaster saves the master on its volume first, then in the status: an operator that starts again
// from the volumes alone must not take the former master's volume for the newest.
func (p *pass) saveMaster(ctx context.Context, name string) error {
	p.redis.Status.Master, p.redis.Status.TargetMaster = name, name
	if err := p.writeStamps(ctx, []string{name}); err != nil {
		return err
	}
	return p.save(ctx)
}

// effectiveMinReplicas returns the W that a master enforces from its promotion on. A new set
// starts with the W of the spec.
func (p *pass) effectiveMinReplicas(candidate topology.Node) int32 {
	rep := p.redis.Status.Replication
	switch {
	case rep == nil:
		return p.spec.MinReplicas
	case p.spec.PrefersAvailability:
		return min(rep.EffectiveMinReplicas, int32(len(p.followers(candidate)))) //nolint:gosec // at most 8
	}
	return rep.EffectiveMinReplicas
}
