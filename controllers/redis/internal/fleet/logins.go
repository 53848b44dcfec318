package fleet

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
// sync set, each by a login of its own, and no other process. So a process can leave the record
// once the master refuses its login, whatever becomes of the process.

// follow makes a recorded process follow the recorded master.
func (f *Fleet) follow(ctx context.Context, process, master cachev1alpha1.RedisProcess) error {
	if f.servers[process.Name] == nil {
		return fmt.Errorf("%s has no address", process.Name)
	}
	return f.servers[process.Name].Follow(ctx, master.Address, f.Credentials.LoginOf(process, master.RunID))
}

// doExpelUnrecorded has the master disconnect every replica that is not recorded, also one that logged in as a backup does: of a
// backup that is well, the next attempt will do.
func (f *Fleet) doExpelUnrecorded(ctx context.Context, _ topology.Step) error {
	return errors.Join(f.admitOnly(ctx, f.Redis.Status.Replication.SyncSet), f.masterServer().KillUser(ctx, backup.RedisUser))
}

// admitOnly makes the master admit exactly these processes. Those that follow it are given
// their logins before, which closes no connection: a process that attached by another login,
// as under an earlier release, comes back by its own.
func (f *Fleet) admitOnly(ctx context.Context, processes []cachev1alpha1.RedisProcess) error {
	master := f.Redis.Status.Replication.Master
	logins := make([]wire.Login, 0, len(processes))
	for _, process := range processes {
		logins = append(logins, f.Credentials.LoginOf(process, master.RunID))
		m, _ := f.Find(process.Name)
		if !m.IsProcess(process) || m.LoginSent || !m.Follows(master.Address) {
			continue
		}
		if err := f.follow(ctx, process, master); err != nil {
			return fmt.Errorf("%s: %w", process.Name, err)
		}
		f.memory.noteLoginSent(process.RunID, f.operator.Clock.Now())
	}
	for _, m := range f.Nodes { // a node that is refused now must be sent its login again, should it count after all
		if m.LoginSent && !slices.ContainsFunc(processes, m.IsProcess) {
			f.memory.forgetLogin(m.RunID)
		}
	}
	return f.admit(ctx, f.masterServer(), f.RecordedMaster(master), logins)
}

// admit makes the server of a node, which is or becomes the master, admit exactly the replicas with these logins. If it is to have no
// replica, it also gives dumps to backups: there is no replica to ask, nor one whose confirmation a client waits for.
func (f *Fleet) admit(ctx context.Context, s server, m topology.Node, logins []wire.Login) error {
	givesDumps := f.Spec.Size == 1 && len(logins) == 0
	if !givesDumps {
		f.memory.noteGivesNone(m.RunID)
	}
	return s.Admit(ctx, config.LoginUsers(), logins, givesDumps)
}
