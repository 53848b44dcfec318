package fleet

import (
	"context"
	"errors"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// errNoFormerMember says that the members may have agreed on a later version since they were looked at.
var errNoFormerMember = errors.New("the member that ran the former version does not confirm that any more: looking again")

// canReturnTo reports whether the member that proves that the members can return still runs that minor version. What the plan saw may be
// old: the operator may have been stopped since.
func (f *Fleet) canReturnTo(ctx context.Context, next membership.Version) bool {
	former, ok := f.Situation().FormerMember()
	server := f.servers[former.Name]
	if !ok || server == nil {
		return false
	}
	ctx, done := context.WithTimeout(ctx, lookLimit)
	defer done()
	view := server.Look(ctx)
	if !view.Answered {
		view, _ = server.LookAtWaiting(ctx) // no answer is no proof
	}
	return former.ProvesFormer(view, next.Minor)
}
