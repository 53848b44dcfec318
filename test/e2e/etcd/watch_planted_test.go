package etcd

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

// A status that was over before anybody looked is among the events.
func TestAStatusThatIsSoonOverIsSeen(t *testing.T) {
	with := func(uid types.UID, change *databasev1alpha1.EtcdMembershipChange) *databasev1alpha1.EtcdCluster {
		e := builders.EtcdCluster("a").Build()
		e.UID, e.Status.Membership = uid, &databasev1alpha1.EtcdMembership{Change: change}
		return e
	}
	change := &databasev1alpha1.EtcdMembershipChange{Name: "a-0"}
	gone := apierrors.NewResourceExpired("too old")
	for _, c := range []struct {
		name   string
		second watch.EventType
		object runtime.Object
		want   error
	}{
		{"it is over by the last event", watch.Modified, with("1", change), nil},
		{"another object's is none", watch.Modified, with("2", change), watchtools.ErrWatchClosed},
		{"the history is gone", watch.Error, &gone.ErrStatus, gone},
	} {
		t.Run(c.name, func(t *testing.T) {
			events := watch.NewFakeWithChanSize(3, false)
			events.Modify(with("1", nil))
			events.Action(c.second, c.object)
			events.Modify(with("1", nil))
			events.Stop()
			_, err := watchtools.UntilWithoutRetry(t.Context(), events, heldBy(with("1", nil), func(s *databasev1alpha1.EtcdClusterStatus) bool {
				return s.Membership.Change != nil
			}))
			if (err == nil) != (c.want == nil) || err != nil && err.Error() != c.want.Error() {
				t.Errorf("got %v", err)
			}
		})
	}
}
