package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

// act performs one step. What a failover must know is saved before the command
// that makes it true.
func (r *Reconciler) act(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, s step, save converge.Save) error {
	switch s.do {
	case fence:
		return each(s.nodes, func(name string) error { return f.servers[name].Fence(ctx) })
	case promote:
		return r.doPromote(ctx, redis, f, s, save)
	case handOver:
		return r.doHandOver(ctx, redis, f, s, save)
	case record:
		return doRecord(ctx, redis, f, s.nodes[0], save)
	case attach:
		return doAttach(ctx, redis, f, s.nodes, save)
	case drop:
		return doDrop(ctx, redis, f, s.nodes, save)
	case setMin:
		return doSetMin(ctx, redis, f, s.min, save)
	case sendAway:
		return each(s.nodes, func(name string) error {
			return errors.Join(f.servers[name].SendAway(ctx), f.servers[name].Unpause(ctx))
		})
	case retire, putStamp:
		return keep(ctx, redis, f, s, save)
	case rekey, tune, persist, reload:
		return r.adapt(ctx, redis, f, s)
	case remove:
		return r.removePod(ctx, redis, f, s.nodes[0])
	case evict:
		return r.removePod(ctx, redis, f, s.nodes[0], ctrlclient.GracePeriodSeconds(1))
	case expel:
		return f.expel(ctx, s.nodes)
	case dismiss:
		return r.dismiss(ctx, redis, s)
	default:
		return nil
	}
}

// adapt nodes to what the spec and the Secrets say; their roles stay.
func (r *Reconciler) adapt(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, s step) error {
	switch s.do {
	case rekey:
		return r.doRekey(ctx, redis, f, s.nodes)
	case tune:
		return r.doTune(ctx, redis, f, s.nodes)
	case persist:
		return r.doPersist(ctx, redis, f, s.nodes)
	default:
		return r.doReload(ctx, redis, f, s.nodes)
	}
}

// promote a fenced node that has all that was confirmed.
func (r *Reconciler) doPromote(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, s step, save converge.Save) error {
	heir, _ := f.find(s.nodes[0])
	server := f.servers[heir.name]
	if err := r.intend(ctx, redis, f, s, save); err != nil {
		return err
	}
	if err := server.Outrank(ctx); err != nil {
		return err
	}
	if now := server.Look(ctx); !now.Fenced() || now.RunID != heir.RunID {
		return fmt.Errorf("%s is no longer what it was when it was chosen", heir.name)
	}
	if err := server.Promote(ctx, effective(redis, f, heir)); err != nil {
		return err
	}
	return r.crown(ctx, redis, f, heir, save)
}

// handOver moves the master without losing a write: fenced, the old one takes no
// more and still feeds its replicas. If it fails half way, nobody is master and the
// next pass promotes the one that has all, which the old master is.
func (r *Reconciler) doHandOver(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, s step, save converge.Save) error {
	heir, _ := f.find(s.nodes[0])
	old, target := f.recorded(redis), f.servers[heir.name]
	// Fenced for one that lags far behind, nobody would take writes, and for nothing.
	if err := barrier(ctx, redis, f, []cachev1alpha1.RedisProcess{heir.process()}); err != nil {
		return err
	}
	if err := r.intend(ctx, redis, f, s, save); err != nil {
		return err
	}
	if err := errors.Join(old.Outrank(ctx), target.Outrank(ctx)); err != nil {
		return err
	}
	if err := errors.Join(old.Pause(ctx, patience), old.Fence(ctx)); err != nil {
		return err
	}
	last := old.Look(ctx) // its final offset
	if !last.Fenced() {
		return fmt.Errorf("%s did not let itself be fenced", redis.Status.Replication.Master.Name)
	}
	if err := reach(ctx, target, last.ReplID, last.Offset); err != nil {
		return fmt.Errorf("%s: %w", heir.name, err)
	}
	if err := target.Promote(ctx, effective(redis, f, heir)); err != nil {
		return err
	}
	err := r.crown(ctx, redis, f, heir, save)
	if f.ghostServer != nil { // no Service leads there any more
		err = errors.Join(err, f.ghostServer.SendAway(ctx))
	}
	return err
}

// intend saves what is about to happen, under an epoch beyond all that there was.
func (r *Reconciler) intend(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, s step, save converge.Save) error {
	redis.Status.Epoch = max(redis.Status.Epoch, f.stampedEpoch()) + 1
	redis.Status.TargetMaster = s.nodes[0]
	redis.Status.LastFailover = &cachev1alpha1.RedisFailover{
		Epoch: redis.Status.Epoch, From: redis.Status.Master, To: s.nodes[0],
		Reason: s.why, Evidence: s.evidence, Unsafe: s.unsafe, DetectedAt: *r.now(),
	}
	if rep := redis.Status.Replication; rep != nil {
		redis.Status.LastFailover.FromPodUID = rep.Master.PodUID
	}
	if s.do == promote { // until then nobody takes writes
		noMaster(redis, s.nodes[0]+" is becoming master")
	}
	return save(ctx)
}

// crown records the new master with those who will follow it, then lets them.
func (r *Reconciler) crown(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, heir member, save converge.Save) error {
	redis.Status.LastFailover.PromotedAt = r.now()
	followers := f.followers(redis, heir)
	if err := note(ctx, redis, f, heir, followers, save); err != nil {
		return err
	}
	// The route must not wait for a follower that does not answer: the next pass
	// attaches it.
	if err := each(namesOf(followers), func(name string) error { return f.servers[name].Follow(ctx, heir.address) }); err != nil {
		log.FromContext(ctx).Info("not attached yet", "error", err.Error())
	}
	return nil
}

// followers that the heir will have at once.
func (f *fleet) followers(redis *cachev1alpha1.Redis, heir member) []member {
	return f.where(func(m member) bool {
		return m.name != heir.name && m.answers() && !m.deleting && ordinal(m.name) < size(redis)
	})
}

// record a node that is master already.
func doRecord(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, name string, save converge.Save) error {
	redis.Status.Epoch = max(1, redis.Status.Epoch)
	if stamped := f.stampedEpoch(); stamped > redis.Status.Epoch {
		redis.Status.Epoch = stamped + 1
	}
	rep := redis.Status.Replication
	if rep != nil && rep.Master.Name == name && f.world.recorded(rep.Master).is(rep.Master) { // the same process, the same followers
		rep.Epoch, rep.ReplID = redis.Status.Epoch, f.world.recorded(rep.Master).ReplID
		return enthrone(ctx, redis, f, name, save)
	}
	m, _ := f.find(name)
	return note(ctx, redis, f, m, nil, save) // whoever follows is attached next
}

// note saves who is master, of which history, and who may confirm its writes.
func note(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, master member, followers []member, save converge.Save) error {
	server := f.servers[master.name]
	now := server.Look(ctx)
	if !now.Master {
		return fmt.Errorf("%s was made master and is none", master.name)
	}
	set := make([]cachev1alpha1.RedisProcess, 0, len(followers))
	for _, m := range followers {
		set = append(set, m.process())
	}
	redis.Status.Replication = &cachev1alpha1.RedisReplication{
		Epoch: redis.Status.Epoch, ReplID: now.ReplID, Master: master.process(),
		SyncSet: sorted(set), EffectiveMinReplicas: now.MinReplicas,
	}
	return enthrone(ctx, redis, f, master.name, save)
}

// enthrone a master on its volume first, then in the status: whoever begins again
// from the volumes alone must not take the one of the master before for the newest.
func enthrone(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, name string, save converge.Save) error {
	redis.Status.Master, redis.Status.TargetMaster = name, name
	if err := putStamps(ctx, redis, f, []string{name}); err != nil {
		return err
	}
	return save(ctx)
}

// attach saves that the nodes may confirm writes, then makes them follow.
func doAttach(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, nodes []string, save converge.Save) error {
	rep := redis.Status.Replication
	for _, name := range nodes {
		if !slices.ContainsFunc(rep.SyncSet, func(p cachev1alpha1.RedisProcess) bool { return p.Name == name }) {
			m, _ := f.find(name)
			rep.SyncSet = append(rep.SyncSet, m.process())
		}
	}
	rep.SyncSet = sorted(rep.SyncSet)
	if err := save(ctx); err != nil {
		return err
	}
	return each(nodes, func(name string) error { return f.servers[name].Follow(ctx, rep.Master.Address) })
}

// drop nodes from the sync set, once all that they may have confirmed is with
// every other member.
func doDrop(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, nodes []string, save converge.Save) error {
	rep := redis.Status.Replication
	stay := slices.DeleteFunc(slices.Clone(rep.SyncSet), func(p cachev1alpha1.RedisProcess) bool { return slices.Contains(nodes, p.Name) })
	if err := barrier(ctx, redis, f, stay); err != nil {
		return err
	}
	rep.SyncSet = stay
	if preferred(redis) { // what was lost must not hold the writes up
		rep.EffectiveMinReplicas = min(rep.EffectiveMinReplicas, int32(len(stay))) //nolint:gosec // at most 8
	}
	return save(ctx)
}

// setMin keeps the recorded W at or below the one that every unrecorded write
// was confirmed under.
func doSetMin(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, w int32, save converge.Save) error {
	rep := redis.Status.Replication
	if w < rep.EffectiveMinReplicas {
		rep.EffectiveMinReplicas = w
		if err := save(ctx); err != nil {
			return err
		}
	}
	if w > rep.EffectiveMinReplicas { // not by one that lags: its writers would wait
		if err := barrier(ctx, redis, f, rep.SyncSet); err != nil {
			return err
		}
	}
	if err := f.recorded(redis).SetMinReplicas(ctx, w); err != nil {
		return err
	}
	if w > rep.EffectiveMinReplicas {
		if err := barrier(ctx, redis, f, rep.SyncSet); err != nil {
			return err
		}
		rep.EffectiveMinReplicas = w
	}
	return save(ctx)
}

// removePod deletes exactly the pod that was looked at.
func (r *Reconciler) removePod(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, name string, how ...ctrlclient.DeleteOption) error {
	m, _ := f.find(name)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: redis.Namespace, Name: name}}
	return ctrlclient.IgnoreNotFound(r.Delete(ctx, pod, append(how, ctrlclient.Preconditions{UID: &m.podUID})...))
}

// expel whoever follows unasked. Who cannot be reached is tried again later.
func (f *fleet) expel(ctx context.Context, addresses []string) error {
	for _, address := range addresses {
		stranger := f.open(address)
		if err := stranger.Fence(ctx); err != nil {
			log.FromContext(ctx).Info("an unknown replica is not fenced yet", "address", address, "error", err.Error())
		}
		stranger.Close()
	}
	return nil
}

// dismiss the switchover's annotation, and say so when it could not be granted.
func (r *Reconciler) dismiss(ctx context.Context, redis *cachev1alpha1.Redis, s step) error {
	next := redis.DeepCopy()
	delete(next.Annotations, cachev1alpha1.RedisSwitchover)
	// Of the object that was looked at: a newer wish stands.
	patch := ctrlclient.MergeFromWithOptions(redis, ctrlclient.MergeFromWithOptimisticLock{})
	if err := r.Patch(ctx, next, patch, ctrlclient.FieldOwner(converge.FieldManager)); err != nil {
		return ctrlclient.IgnoreNotFound(err)
	}
	if s.why != "" {
		r.Events.Eventf(redis, nil, corev1.EventTypeWarning, "SwitchoverRefused", "Switchover", "%s", s.why)
	}
	return nil
}

// effective is the W that writes are taken under from a promotion on. A new set
// begins with what is asked for.
func effective(redis *cachev1alpha1.Redis, f *fleet, heir member) int32 {
	rep := redis.Status.Replication
	switch {
	case rep == nil:
		return minReplicas(redis)
	case preferred(redis):
		return min(rep.EffectiveMinReplicas, int32(len(f.followers(redis, heir)))) //nolint:gosec // at most 8
	}
	return rep.EffectiveMinReplicas
}

func sorted(set []cachev1alpha1.RedisProcess) []cachev1alpha1.RedisProcess {
	slices.SortFunc(set, func(a, b cachev1alpha1.RedisProcess) int { return strings.Compare(a.Name, b.Name) })
	return set
}

// each tries all and joins what went wrong.
func each(names []string, do func(string) error) error {
	var errs []error
	for _, name := range names {
		if err := do(name); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}
