package fleet

import (
	"context"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// doDeletePod deletes a pod. One that goes only as it was seen stays if its server answers now: the kubelet reports a start later than
// etcd serves. One whose data no other member is known to have stays if its claim is being deleted by now: the claim waits for the pod, and
// the data would be gone with both. If the claim is deleted after that question, the outcome is as if it were deleted after the pod.
func (f *Fleet) doDeletePod(ctx context.Context, s membership.Step) error {
	if server := f.servers[s.Member]; s.AsSeen && server != nil && answersNow(ctx, server) {
		return ErrPodChanged
	}
	if s.NeedsClaim {
		m, _ := f.Find(s.Member)
		if err := f.Effects.ConfirmClaim(ctx, s.Member, m.Pod.ClaimUID); err != nil {
			return err
		}
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
