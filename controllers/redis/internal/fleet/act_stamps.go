package fleet

import (
	"context"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

func (f *Fleet) doStampVolumes(ctx context.Context, s topology.Step) error {
	return f.WriteStamps(ctx, s.NodeNames)
}

// doEndMastership records that there is no master any more: the volumes alone then show which node may lead.
func (f *Fleet) doEndMastership(ctx context.Context, _ topology.Step) error {
	f.Redis.Status.Replication, f.Redis.Status.TargetMaster = nil, f.Redis.Status.Master
	return f.effects.Save(ctx)
}

// WriteStamps writes the stamps that are due on these nodes' volumes, where they have one.
func (f *Fleet) WriteStamps(ctx context.Context, nodes []string) error {
	return forEach(nodes, func(name string) error {
		if _, ok := f.Volumes[name]; !ok {
			return nil
		}
		return f.effects.WriteStamp(ctx, name, f.Situation().DueStamp(name))
	})
}
