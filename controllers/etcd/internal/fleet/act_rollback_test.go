package fleet

import (
	"context"
	"errors"
	"testing"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// waitingServer waits for a majority, as it was set to.
type waitingServer struct{ seenServer }

func (waitingServer) Look(context.Context) membership.View { return membership.View{} }

func (w waitingServer) LookAtWaiting(context.Context) (membership.View, error) { return w.view, nil }

// An operator that was stopped may have seen the last member of the former version long ago.
func TestTheMemberOfTheFormerVersionIsAskedOnceMore(t *testing.T) {
	former := membership.View{Answered: true, ID: 1, Version: membership.Version{Minor: 6, Patch: 16}, ClusterVersion: "3.6"}
	later, waits := former, former
	later.Version, later.ClusterVersion = membership.Version{Minor: 7, Patch: 3}, "3.7"
	waits.Answered, waits.Waits = false, true
	for _, c := range []struct {
		name   string
		server server
		goes   bool
	}{
		{"the member still runs the former version", seenServer{view: former}, true},
		{"the member waits for a majority", waitingServer{seenServer{view: waits}}, true},
		{"the member runs the next version by now", seenServer{view: later}, false},
		{"the member is silent", waitingServer{}, false},
		{"the pod of the member is gone", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := &databasev1alpha1.EtcdCluster{Status: databasev1alpha1.EtcdClusterStatus{TargetVersion: "3.7.3", TargetImage: "later",
				Membership: &databasev1alpha1.EtcdMembership{Members: []databasev1alpha1.EtcdRecordedMember{{Name: "a-0", ID: "1"}}}}}
			f := &Fleet{Cluster: e, Spec: membership.Spec{Name: "a", Wanted: former.Version}, Effects: savedEffects{}, servers: map[string]server{}}
			f.Members = []membership.Member{{Name: "a-0", Record: &e.Status.Membership.Members[0], View: former}}
			if c.server != nil {
				f.servers["a-0"] = c.server
			}
			err := f.Act(t.Context(), membership.Step{Do: membership.SetVersion, Version: "3.6.16", Image: "former"})
			if (err == nil) != c.goes || errors.Is(err, errNoFormerMember) == c.goes || (e.Status.TargetImage == "former") != c.goes {
				t.Errorf("%v: %s, %s", err, e.Status.TargetVersion, e.Status.TargetImage)
			}
		})
	}
}
