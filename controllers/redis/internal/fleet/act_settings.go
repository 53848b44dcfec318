package fleet

import (
	"context"
	"maps"
	"slices"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// takeSettings starts from the known settings, else from how the servers run: what they
// save now, they must find again after a restart.
func (f *Fleet) takeSettings(known config.Settings) {
	if f.Settings = known; known.Live == nil {
		f.Settings = f.Spec.InitialSettings()
		if running := f.Where(topology.Node.Answers); len(running) > 0 {
			f.Settings.Live[config.AppendOnly] = config.YesNo(running[0].AOF)
		}
	}
	f.Spec = f.Spec.AllowingFor(f.Settings)
}

// TakeAcceptedSettings sets Settings to what the servers have accepted, in this pass as well.
func (f *Fleet) TakeAcceptedSettings() {
	f.memory.fillSettings(f.Spec, &f.World)
	f.Settings = f.Situation().NextSettings()
}

// doApplySettings sets the directives that running servers can change. A directive that one
// refuses is not tried on the next, and is remembered: it would be refused again.
func (f *Fleet) doApplySettings(ctx context.Context, s topology.Step) error {
	refused := map[string]string{}
	return forEach(s.NodeNames, func(name string) error {
		m, _ := f.Find(name)
		want := f.Spec.ImmediateDirectives(m.MemoryLimit)
		for _, directive := range slices.Sorted(maps.Keys(want)) {
			if _, is := refused[directive]; is {
				continue
			}
			err := f.servers[name].Configure(ctx, directive, want[directive])
			if err != nil && !wire.IsRefusal(err) {
				return err
			}
			if err != nil {
				refused[directive] = wire.RefusalText(err)
			}
		}
		f.memory.noteApplied(m.RunID, want, maps.Clone(refused))
		return nil
	})
}

// doSetPersistence turns the append-only file on, or off once its writes are also in a
// snapshot: until then a server that dies would find them in neither.
func (f *Fleet) doSetPersistence(ctx context.Context, s topology.Step) error {
	return forEach(s.NodeNames, func(name string) error {
		m, _ := f.Find(name)
		err := f.setPersistenceOn(ctx, f.servers[name], m)
		if err != nil && !wire.IsRefusal(err) {
			return err
		}
		f.memory.notePersistRefusal(m.RunID, wire.RefusalText(err))
		return nil
	})
}

func (f *Fleet) setPersistenceOn(ctx context.Context, server server, m topology.Node) error {
	switch {
	case f.Spec.UsesAppendOnly() || !f.Spec.UsesSnapshots() || m.SnapshotTaken:
		return server.Configure(ctx, config.AppendOnly, config.YesNo(f.Spec.UsesAppendOnly()))
	case m.Saving:
		return nil
	}
	if err := server.SaveSnapshot(ctx); err != nil {
		return err
	}
	f.memory.noteSnapshotAsked(m.RunID, m.SavedAt)
	return nil
}
