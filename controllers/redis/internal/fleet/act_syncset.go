package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// doAttachReplicas saves that the nodes may confirm writes, then makes them follow.
func (f *Fleet) doAttachReplicas(ctx context.Context, s topology.Step) error {
	rep := f.Redis.Status.Replication
	for _, name := range s.NodeNames {
		if !slices.ContainsFunc(rep.SyncSet, func(process cachev1alpha1.RedisProcess) bool { return process.Name == name }) {
			m, _ := f.Find(name)
			rep.SyncSet = append(rep.SyncSet, m.Process())
		}
	}
	rep.SyncSet = sortByName(rep.SyncSet)
	if err := f.effects.Save(ctx); err != nil {
		return err
	}
	return f.admitAndFollow(ctx, s.NodeNames)
}

// admitAndFollow makes the master admit the recorded sync set, then makes those of these nodes follow it.
func (f *Fleet) admitAndFollow(ctx context.Context, nodes []string) error {
	rep := f.Redis.Status.Replication
	if err := f.admitOnly(ctx, rep.SyncSet); err != nil {
		return err
	}
	var errs []error
	for _, process := range rep.SyncSet {
		if !slices.Contains(nodes, process.Name) {
			continue
		}
		if err := f.follow(ctx, process, rep.Master); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", process.Name, err))
			continue
		}
		f.memory.noteLoginSent(process.RunID, f.operator.Clock.Now())
		f.memory.cutOffSince = time.Time{} // it is yet to reach its master
	}
	return errors.Join(errs...)
}

// doRemoveMembers removes nodes from the sync set, once the master refuses them and every other member that can be
// asked has all writes that they may have confirmed. From then on no node without those writes is a candidate: neither
// a node that comes back with an older file, nor a member that could not be asked.
func (f *Fleet) doRemoveMembers(ctx context.Context, s topology.Step) error {
	rep := f.Redis.Status.Replication
	stay := slices.DeleteFunc(slices.Clone(rep.SyncSet), func(process cachev1alpha1.RedisProcess) bool {
		return slices.Contains(s.NodeNames, process.Name)
	})
	if err := f.admitOnly(ctx, stay); err != nil {
		return err
	}
	asked := slices.DeleteFunc(slices.Clone(stay), func(process cachev1alpha1.RedisProcess) bool {
		m, _ := f.Find(process.Name)
		return !m.IsProcess(process)
	})
	has, err := f.barrier(ctx, asked)
	if err != nil {
		return err
	}
	if rep.SyncSet = stay; has > rep.StartOffset {
		rep.StartOffset, rep.FormerReplID = has, ""
	}
	if f.Spec.PrefersAvailability { // what was lost must not hold the writes up
		rep.EffectiveMinReplicas = min(rep.EffectiveMinReplicas, int32(len(stay))) //nolint:gosec // at most 8
	}
	return f.effects.Save(ctx)
}

// doSetMinReplicas changes W. It keeps the recorded W at or below the one under which
// every unrecorded write was confirmed.
func (f *Fleet) doSetMinReplicas(ctx context.Context, s topology.Step) error {
	rep, w := f.Redis.Status.Replication, s.MinReplicas
	if w < rep.EffectiveMinReplicas {
		rep.EffectiveMinReplicas = w
		if err := f.effects.Save(ctx); err != nil {
			return err
		}
	}
	if w > rep.EffectiveMinReplicas { // not by one that lags: its writers would wait
		if _, err := f.barrier(ctx, rep.SyncSet); err != nil {
			return err
		}
	}
	if err := f.masterServer().SetMinReplicas(ctx, w); err != nil {
		return err
	}
	if w > rep.EffectiveMinReplicas {
		if _, err := f.barrier(ctx, rep.SyncSet); err != nil {
			return err
		}
		rep.EffectiveMinReplicas = w
	}
	return f.effects.Save(ctx)
}

func sortByName(set []cachev1alpha1.RedisProcess) []cachev1alpha1.RedisProcess {
	slices.SortFunc(set, func(a, b cachev1alpha1.RedisProcess) int { return strings.Compare(a.Name, b.Name) })
	return set
}
