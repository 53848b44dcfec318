package redis

import (
	"context"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/node"
)

// doRekey makes nodes accept what the Secrets say, and nothing else. One that
// refuses is remembered: it would refuse again.
func (r *Reconciler) doRekey(ctx context.Context, redis *cachev1alpha1.Redis, f *fleet, nodes []string) error {
	return forEach(nodes, func(name string) error {
		m, _ := f.find(name)
		err := f.servers[name].Accept(ctx, application, f.keys.accepted()...)
		if err != nil && !node.Refusal(err) {
			return err
		}
		r.memory.notePasswords(redis, m.RunID, passwordReply{digest: f.keys.digest(), refused: err != nil})
		return nil
	})
}

// publishPassword applications the password that is wanted, once every node that answers
// accepts it.
func (r *Reconciler) publishPassword(redis *cachev1alpha1.Redis, f *fleet) {
	r.memory.fillPasswords(redis, &f.world, f.keys) // some may have learned it in this pass
	if f.keys.untold() && f.count(member.hasOldPasswords) == 0 {
		f.keys = f.keys.tell(redis.Status.Replication != nil)
		r.memory.keepCredentials(redis, f.keys)
	}
}

// startPasswordOverlap starts the overlap of a password whose successor was told. It is true
// when that has to be written down.
func (r *Reconciler) startPasswordOverlap(redis *cachev1alpha1.Redis, f *fleet) bool {
	counting, changed := f.keys.counting(r.clock.Now())
	if changed {
		f.keys = counting
		r.memory.keepCredentials(redis, f.keys)
	}
	return changed
}
