package redis

import (
	"context"
	"slices"
	"strings"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

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

func sorted(set []cachev1alpha1.RedisProcess) []cachev1alpha1.RedisProcess {
	slices.SortFunc(set, func(a, b cachev1alpha1.RedisProcess) int { return strings.Compare(a.Name, b.Name) })
	return set
}
