package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
)

// doAttachReplicas saves that the nodes may confirm writes, then makes them follow.
func (r *Reconciler) doAttachReplicas(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, nodes []string) error {
	rep := redis.Status.Replication
	for _, name := range nodes {
		if !slices.ContainsFunc(rep.SyncSet, func(p cachev1alpha1.RedisProcess) bool { return p.Name == name }) {
			m, _ := f.Find(name)
			rep.SyncSet = append(rep.SyncSet, m.Process())
		}
	}
	rep.SyncSet = sortByName(rep.SyncSet)
	if err := f.save(ctx); err != nil {
		return err
	}
	return r.admitAndFollow(ctx, redis, f, nodes)
}

// admitAndFollow makes the master admit the sync set on record, then makes those of these nodes follow it.
func (r *Reconciler) admitAndFollow(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, nodes []string) error {
	rep := redis.Status.Replication
	if err := r.admitOnly(ctx, redis, f, rep.SyncSet); err != nil {
		return err
	}
	var errs []error
	for _, p := range rep.SyncSet {
		if !slices.Contains(nodes, p.Name) {
			continue
		}
		if err := f.follow(ctx, p, rep.Master); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.Name, err))
			continue
		}
		r.memory.noteCommand(redis, p.RunID, setLoginSent(r.clock.Now()))
		r.memory.noteFollow(redis)
	}
	return errors.Join(errs...)
}

// doRemoveMembers removes nodes from the sync set, once the master refuses them and every other member that can be
// asked has all writes that they may have confirmed. From then on nobody without those writes is a candidate: neither
// a node that comes back with an older file, nor a member that could not be asked.
func (r *Reconciler) doRemoveMembers(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, nodes []string) error {
	rep := redis.Status.Replication
	stay := slices.DeleteFunc(slices.Clone(rep.SyncSet), func(p cachev1alpha1.RedisProcess) bool { return slices.Contains(nodes, p.Name) })
	if err := r.admitOnly(ctx, redis, f, stay); err != nil {
		return err
	}
	asked := slices.DeleteFunc(slices.Clone(stay), func(p cachev1alpha1.RedisProcess) bool {
		m, _ := f.Find(p.Name)
		return !m.IsProcess(p)
	})
	has, err := barrier(ctx, redis, f, asked)
	if err != nil {
		return err
	}
	if rep.SyncSet = stay; has > rep.StartOffset {
		rep.StartOffset, rep.FormerReplID = has, ""
	}
	if f.spec.PrefersAvailability { // what was lost must not hold the writes up
		rep.EffectiveMinReplicas = min(rep.EffectiveMinReplicas, int32(len(stay))) //nolint:gosec // at most 8
	}
	return f.save(ctx)
}

// doSetMinReplicas changes W. It keeps the recorded W at or below the one under which
// every unrecorded write was confirmed.
func doSetMinReplicas(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, w int32) error {
	rep := redis.Status.Replication
	if w < rep.EffectiveMinReplicas {
		rep.EffectiveMinReplicas = w
		if err := f.save(ctx); err != nil {
			return err
		}
	}
	if w > rep.EffectiveMinReplicas { // not by one that lags: its writers would wait
		if _, err := barrier(ctx, redis, f, rep.SyncSet); err != nil {
			return err
		}
	}
	if err := f.masterServer(redis).SetMinReplicas(ctx, w); err != nil {
		return err
	}
	if w > rep.EffectiveMinReplicas {
		if _, err := barrier(ctx, redis, f, rep.SyncSet); err != nil {
			return err
		}
		rep.EffectiveMinReplicas = w
	}
	return f.save(ctx)
}

func sortByName(set []cachev1alpha1.RedisProcess) []cachev1alpha1.RedisProcess {
	slices.SortFunc(set, func(a, b cachev1alpha1.RedisProcess) int { return strings.Compare(a.Name, b.Name) })
	return set
}
