package redis

import (
	"context"
	"maps"
	"slices"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// readSettings returns the settings that this process knows the servers to have accepted, else
// those in our own Secret. A new Redis has none.
func (r *Reconciler) readSettings(ctx context.Context, redis *cachev1alpha1.Redis, spec config.Spec) (config.Settings, error) {
	if s, known := r.memory.settings(redis); known {
		return s, nil
	}
	files, err := r.OwnSecret(ctx, redis, spec.FilesName())
	if err != nil {
		return config.Settings{}, err
	}
	return config.SettingsIn(files.Data), nil
}

// takeSettings starts from the known settings, else from how the servers run: what they
// save now, they must find again after a restart.
func (f *fleet) takeSettings(known config.Settings) {
	if f.Settings = known; known.Live == nil {
		f.Settings = f.spec.InitialSettings()
		if running := f.Where(topology.Node.Answers); len(running) > 0 {
			f.Settings.Live[config.AppendOnly] = config.YesNo(running[0].AOF)
		}
	}
	f.spec = f.spec.AllowingFor(f.Settings)
}

// takeAcceptedSettings adds the settings that the servers have accepted, also in this pass.
func (r *Reconciler) takeAcceptedSettings(redis *cachev1alpha1.Redis, f *fleet) {
	r.memory.fillSettings(redis, f.spec, &f.World)
	f.Settings = f.situation(redis).NextSettings()
}

// doApplySettings sets the directives that running servers can change. A directive that one
// refuses is not tried on the next, and is remembered: it would be refused again.
func (r *Reconciler) doApplySettings(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, nodes []string) error {
	refused := map[string]string{}
	return forEach(nodes, func(name string) error {
		m, _ := f.Find(name)
		want := f.spec.ImmediateDirectives(m.MemoryLimit)
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
		r.memory.noteSettings(redis, m.RunID, func(t *settingsReply) {
			t.applied, t.refused = want, maps.Clone(refused)
		})
		return nil
	})
}

// doSetPersistence turns the append-only file on, or off once its writes are also in a
// snapshot: until then a server that dies would find them in neither.
func (r *Reconciler) doSetPersistence(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, nodes []string) error {
	return forEach(nodes, func(name string) error {
		m, _ := f.Find(name)
		err := r.setPersistenceOn(ctx, redis, f.spec, f.servers[name], m)
		if err != nil && !wire.IsRefusal(err) {
			return err
		}
		r.memory.noteSettings(redis, m.RunID, func(t *settingsReply) { t.persistRefusal = wire.RefusalText(err) })
		return nil
	})
}

func (r *Reconciler) setPersistenceOn(ctx context.Context, redis *cachev1alpha1.Redis, spec config.Spec, server server, m topology.Node) error {
	switch {
	case spec.UsesAppendOnly() || !spec.UsesSnapshots() || m.SnapshotTaken:
		return server.Configure(ctx, config.AppendOnly, config.YesNo(spec.UsesAppendOnly()))
	case m.Saving:
		return nil
	}
	if err := server.SaveSnapshot(ctx); err != nil {
		return err
	}
	r.memory.noteSettings(redis, m.RunID, func(t *settingsReply) { t.snapshotAsked, t.snapshotBefore = true, m.SavedAt })
	return nil
}
