package redis

import (
	"context"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// doSetPasswords makes nodes accept the passwords in the Secrets and no others, and know the user of the backups, whom a process
// that an earlier release started does not. A node that refuses is remembered: it would refuse again.
func (p *pass) doSetPasswords(ctx context.Context, s topology.Step) error {
	return forEach(s.NodeNames, func(name string) error {
		m, _ := p.Find(name)
		server := p.servers[name]
		err := setPasswords(ctx, server, p.credentials)
		if err != nil && !wire.IsRefusal(err) {
			return err
		}
		p.known.passwordReplies[m.RunID] = passwordReply{digest: p.credentials.AcceptedDigest(), refused: err != nil}
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
// and the former ones are dropped once every recorded replica has a login that is derived from the next one. It reports whether
// a stage has started: another pass is due once it is in the Secrets.
func (p *pass) rotatePasswords() bool {
	s, now := p.situation(), p.clock.Now()
	used, dropped := false, false
	if s.EveryNodeAccepts() {
		p.credentials, used = p.credentials.UseNext(now)
	}
	if s.LoginsSent() {
		p.credentials, dropped = p.credentials.DropFormer(now)
	}
	if used {
		p.known.forgetLogins()
	}
	p.known.keepCredentials(p.credentials)
	return used || dropped
}

// publishPassword gives the applications the wanted password, once every node that answers
// accepts it.
func (p *pass) publishPassword() {
	p.known.fillPasswords(&p.World, p.redis.Status.Nodes, p.credentials) // some may have learned it in this pass
	if p.credentials.IsUnpublished() && p.Count(topology.Node.HasOldPasswords) == 0 {
		p.credentials = p.credentials.Publish(p.redis.Status.Replication != nil)
		p.known.keepCredentials(p.credentials)
	}
}

// startPasswordOverlap starts the overlap of a password whose successor was published. It reports
// whether that has to be saved.
func (p *pass) startPasswordOverlap() bool {
	counting, changed := p.credentials.StartOverlap(p.clock.Now())
	if changed {
		p.credentials = counting
		p.known.keepCredentials(p.credentials)
	}
	return changed
}
