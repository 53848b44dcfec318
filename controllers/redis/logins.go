package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// The master itself knows who may confirm writes: it admits the processes of the
// sync set, each by a login of its own, and nobody else. So a process can leave the record
// once the master refuses its login, whatever becomes of the process.

// follow makes a process on record follow the master of record.
func (f *fleet) follow(ctx context.Context, p, master cachev1alpha1.RedisProcess) error {
	if f.servers[p.Name] == nil {
		return fmt.Errorf("%s has no address", p.Name)
	}
	return f.servers[p.Name].Follow(ctx, master.Address, f.credentials.LoginOf(p, master.RunID))
}

// doExpelUnrecorded has the master disconnect every replica that is not on record, also one that logged in as a backup does: of a
// backup that is well, the next attempt will do.
func (r *Reconciler) doExpelUnrecorded(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet) error {
	return errors.Join(r.admitOnly(ctx, redis, f, redis.Status.Replication.SyncSet), f.masterServer(redis).KillUser(ctx, backup.RedisUser))
}

// admitOnly makes the master admit exactly these processes. Those that follow it are told
// their logins before, which closes no connection: a process that attached by another login,
// as under an earlier release, comes back by its own.
func (r *Reconciler) admitOnly(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, processes []cachev1alpha1.RedisProcess) error {
	master := redis.Status.Replication.Master
	logins := make([]wire.Login, 0, len(processes))
	for _, p := range processes {
		logins = append(logins, f.credentials.LoginOf(p, master.RunID))
		m, _ := f.Find(p.Name)
		if !m.IsProcess(p) || m.LoginSent || !m.Follows(master.Address) {
			continue
		}
		if err := f.follow(ctx, p, master); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		r.memory.noteCommand(redis, p.RunID, setLoginSent(r.clock.Now()))
	}
	for _, m := range f.Nodes { // who is refused now must be told again, should he count after all
		if m.LoginSent && !slices.ContainsFunc(processes, m.IsProcess) {
			r.memory.noteCommand(redis, m.RunID, func(c *topology.SentCommands) { c.LoginSent = false })
		}
	}
	return f.masterServer(redis).Admit(ctx, config.LoginUsers(), logins)
}
