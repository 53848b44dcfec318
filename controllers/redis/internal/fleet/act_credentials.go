package fleet

import (
	"context"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// doSetPasswords makes nodes accept the passwords in the Secrets and no others, and know the user of the backups, whom a process
// that an earlier release started does not. A node that refuses is remembered: it would refuse again.
func (f *Fleet) doSetPasswords(ctx context.Context, s topology.Step) error {
	return forEach(s.NodeNames, func(name string) error {
		m, _ := f.Find(name)
		server := f.servers[name]
		err := setPasswords(ctx, server, f.Credentials, f.backupRights(m))
		if err != nil && !wire.IsRefusal(err) {
			return err
		}
		f.memory.passwordReplies[m.RunID] = passwordReply{digest: f.Credentials.AcceptedDigest(), refused: err != nil,
			givesNone: m.Master && !f.masterGivesDumps()}
		return nil
	})
}

// setPasswords makes a server accept exactly these passwords. Once a rotation has ended, no connection of the operator's user that
// was made with a former password stays, and the replicas' common password is refused: each replica has its own login.
func setPasswords(ctx context.Context, s server, c config.Credentials, backupRights []string) error {
	commands := []func() error{
		func() error { return s.SetPasswords(ctx, wire.Operator, c.OperatorDigests()...) },
		func() error { return s.SetPasswords(ctx, config.Application, c.AcceptedDigests()...) },
		func() error { return s.DefineUser(ctx, backup.RedisUser, c.BackupDigests(), backupRights...) },
	}
	if c.Rotation.HasRotated() {
		commands = append(commands,
			func() error { return s.SetPasswords(ctx, wire.Replication) },
			func() error { return s.KillOtherOperators(ctx) })
	}
	for _, send := range commands {
		if err := send(); err != nil {
			return err
		}
	}
	return nil
}

// backupRights are those of a backup on that node.
func (f *Fleet) backupRights(m topology.Node) []string {
	if m.Master && !f.masterGivesDumps() {
		return config.BackupRightsOnMaster
	}
	return config.BackupRights
}

// masterGivesDumps reports whether the master is to give dumps to backups: only if there is no replica to ask, nor one whose confirmation
// a client waits for.
func (f *Fleet) masterGivesDumps() bool {
	rep := f.Redis.Status.Replication
	return f.Spec.Size == 1 && (rep == nil || len(rep.SyncSet) == 0)
}

// RotatePasswords starts the next stage of a rotation that is due: the next passwords are published once every server accepts them,
// and the former ones are retired once every recorded replica has a login that is derived from the next one. It reports whether
// a stage has started: another pass is due once it is in the Secrets.
func (f *Fleet) RotatePasswords() bool {
	s, now := f.Situation(), f.operator.Clock.Now()
	published, retired := false, false
	if s.EveryNodeAccepts() {
		f.Credentials, published = f.Credentials.PublishNext(now)
	}
	if s.LoginsSent() {
		f.Credentials, retired = f.Credentials.RetireFormer(now)
	}
	if published {
		f.memory.forgetLogins()
	}
	f.memory.KeepCredentials(f.Credentials)
	return published || retired
}

// PublishPassword gives the applications the wanted password, once every node that answers
// accepts it.
func (f *Fleet) PublishPassword() {
	f.memory.fillPasswords(&f.World, f.Redis.Status.Nodes, f.Credentials, f.masterGivesDumps()) // some may have learned it in this pass
	if f.Credentials.IsUnpublished() && f.Count(topology.Node.HasOldPasswords) == 0 {
		f.Credentials = f.Credentials.Publish(f.Redis.Status.Replication != nil)
		f.memory.KeepCredentials(f.Credentials)
	}
}

// StartPasswordOverlap starts the overlap of a password whose successor was published. It reports
// whether that has to be saved.
func (f *Fleet) StartPasswordOverlap() bool {
	counting, changed := f.Credentials.StartOverlap(f.operator.Clock.Now())
	if changed {
		f.Credentials = counting
		f.memory.KeepCredentials(f.Credentials)
	}
	return changed
}
