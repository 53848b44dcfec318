package redis

import (
	"context"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// doSetPasswords makes nodes accept the passwords in the Secrets and no others, and know the user of the backups, whom a process
// that an earlier release started does not. A node that refuses is remembered: it would refuse again.
func (r *Reconciler) doSetPasswords(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, nodes []string) error {
	return forEach(nodes, func(name string) error {
		m, _ := f.Find(name)
		server := f.servers[name]
		err := setPasswords(ctx, server, f.credentials)
		if err != nil && !wire.IsRefusal(err) {
			return err
		}
		r.memory.notePasswords(redis, m.RunID, passwordReply{digest: f.credentials.AcceptedDigest(), refused: err != nil})
		return nil
	})
}

// setPasswords makes a server accept exactly these passwords. Once a rotation has ended, no connection of the operator's user that
// was made with a former password stays, and the replicas' common password is refused: each replica has its own login.
func setPasswords(ctx context.Context, s server, c config.Credentials) error {
	commands := []func() error{
		func() error { return s.SetPasswords(ctx, wire.Operator, c.OperatorDigests()...) },
		func() error { return s.SetPasswords(ctx, config.Application, c.AcceptedDigests()...) },
		func() error { return s.DefineUser(ctx, backup.RedisUser, c.BackupDigests(), config.BackupRights...) },
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

// rotatePasswords starts the next stage of a rotation that is due: the next passwords are used once every server accepts them,
// and the former ones are dropped once every replica on record has a login that is derived from the next one. It reports whether
// a stage has started: another pass is due once it is in the Secrets.
func (r *Reconciler) rotatePasswords(redis *cachev1alpha1.Redis, f *fleet) bool {
	s, now := f.situation(redis), r.clock.Now()
	used, dropped := false, false
	if s.EveryNodeAccepts() {
		f.credentials, used = f.credentials.UseNext(now)
	}
	if s.LoginsSent() {
		f.credentials, dropped = f.credentials.DropFormer(now)
	}
	if used {
		r.memory.forgetLogins(redis)
	}
	r.memory.keepCredentials(redis, f.credentials)
	return used || dropped
}

// publishPassword gives the applications the wanted password, once every node that answers
// accepts it.
func (r *Reconciler) publishPassword(redis *cachev1alpha1.Redis, f *fleet) {
	r.memory.fillPasswords(redis, &f.World, f.credentials) // some may have learned it in this pass
	if f.credentials.IsUnpublished() && f.Count(topology.Node.HasOldPasswords) == 0 {
		f.credentials = f.credentials.Publish(redis.Status.Replication != nil)
		r.memory.keepCredentials(redis, f.credentials)
	}
}

// startPasswordOverlap starts the overlap of a password whose successor was published. It reports
// whether that has to be saved.
func (r *Reconciler) startPasswordOverlap(redis *cachev1alpha1.Redis, f *fleet) bool {
	counting, changed := f.credentials.StartOverlap(r.clock.Now())
	if changed {
		f.credentials = counting
		r.memory.keepCredentials(redis, f.credentials)
	}
	return changed
}
