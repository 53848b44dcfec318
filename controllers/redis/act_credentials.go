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
		err := server.SetPasswords(ctx, config.Application, f.credentials.AcceptedDigests()...)
		if err == nil {
			err = server.DefineUser(ctx, backup.RedisUser, config.Digest(f.credentials.Backup), config.BackupRights...)
		}
		if err != nil && !wire.IsRefusal(err) {
			return err
		}
		r.memory.notePasswords(redis, m.RunID, passwordReply{digest: f.credentials.AcceptedDigest(), refused: err != nil})
		return nil
	})
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
