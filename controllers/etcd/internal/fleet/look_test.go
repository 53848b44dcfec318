package fleet

import (
	"context"
	"fmt"
	"testing"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/wire"
)

// refusingServer shows its status to everybody, as etcd 3.5 does, and refuses the operator's token.
type refusingServer struct{ server }

func (refusingServer) Members(context.Context) ([]membership.ListedMember, error) {
	return nil, fmt.Errorf("listing members: %w", wire.ErrLockedOut)
}

// Members that refuse the operator's token are not reported as a majority that does not answer.
func TestARefusedTokenIsNoSilence(t *testing.T) {
	m := formed(3, 3, true)
	e := &databasev1alpha1.EtcdCluster{Status: *m.Status.DeepCopy()}
	f := m.fleet(e, &modelEffects{model: m, object: e, version: m.Version})
	f.Spec.RequiresLogin, f.Listed, f.Members = true, false, f.Members[:3]
	for name, s := range f.servers {
		f.servers[name] = refusingServer{s}
	}
	f.lookAtServers(t.Context(), e.Status.Membership)
	f.readList(t.Context())
	if next := f.Situation().Plan(); next.Do != membership.Block || next.Reason != commonv1.ReasonLockedOut {
		t.Errorf("the step is %s, %s: %s", next.Do, next.Reason, next.Message)
	}
	for name, s := range f.servers {
		if name != "a-0" {
			f.servers[name] = s.(refusingServer).server
		}
	}
	f.readList(t.Context())
	if !f.Listed || f.Access.LockedOut {
		t.Errorf("one of three refuses the token: listed %v, locked out %v", f.Listed, f.Access.LockedOut)
	}
}
