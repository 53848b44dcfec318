package fleet

import (
	"context"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// doDeletePod deletes a pod. One that goes only as it was seen stays if its server answers now: the kubelet reports a start later than
// etcd serves.
func (f *Fleet) doDeletePod(ctx context.Context, s membership.Step) error {
	if server := f.servers[s.Member]; s.AsSeen && server != nil && answersNow(ctx, server) {
		return ErrPodChanged
	}
	return f.Effects.DeletePod(ctx, s.Member, s.AsSeen)
}

// answersNow looks at a server once more, before its pod goes.
func answersNow(ctx context.Context, server server) bool {
	ctx, done := context.WithTimeout(ctx, lookLimit)
	defer done()
	return server.Look(ctx).IsOfServer()
}

func (f *Fleet) doEvictPod(ctx context.Context, s membership.Step) error {
	return f.Effects.EvictPod(ctx, s.Member)
}
