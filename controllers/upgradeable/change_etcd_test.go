package upgradeable

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

type etcdEdit func(*databasev1alpha1.EtcdCluster)

// formedEtcd is an EtcdCluster at rest, changed.
func formedEtcd(edits ...etcdEdit) *databasev1alpha1.EtcdCluster {
	e := builders.EtcdCluster("e").In("shop").Build()
	e.Status.Membership = &databasev1alpha1.EtcdMembership{ClusterID: "c"}
	e.Status.Members = []databasev1alpha1.EtcdMember{{Name: "e-0", Role: databasev1alpha1.EtcdLeader},
		{Name: "e-1", Role: databasev1alpha1.EtcdVoter}}
	for _, edit := range edits {
		edit(e)
	}
	return e
}

func changingEtcd(kind databasev1alpha1.EtcdChangeType) etcdEdit {
	return func(e *databasev1alpha1.EtcdCluster) {
		e.Status.Membership.Change = &databasev1alpha1.EtcdMembershipChange{Type: kind, Name: "e-0"}
	}
}

func recoveringEtcd(e *databasev1alpha1.EtcdCluster) { changingEtcd(databasev1alpha1.EtcdRecover)(e) }

func TestEtcdChange(t *testing.T) {
	for name, c := range map[string]struct {
		edits []etcdEdit
		want  string
	}{
		"it is well":               {nil, ""},
		"it was just made":         {[]etcdEdit{func(e *databasev1alpha1.EtcdCluster) { e.Status.Membership = nil }}, forming},
		"its members have not met": {[]etcdEdit{func(e *databasev1alpha1.EtcdCluster) { e.Status.Membership.ClusterID = "" }}, forming},
		"it recovers":              {[]etcdEdit{recoveringEtcd}, recovering},
		"a member is added":        {[]etcdEdit{changingEtcd(databasev1alpha1.EtcdAdd)}, changingMembers},
		"a member is removed":      {[]etcdEdit{changingEtcd(databasev1alpha1.EtcdRemove)}, changingMembers},
		"a member is a learner": {[]etcdEdit{func(e *databasev1alpha1.EtcdCluster) {
			e.Status.Members[1].Role = databasev1alpha1.EtcdLearner
		}}, changingMembers},
		"a pod is away": {[]etcdEdit{func(e *databasev1alpha1.EtcdCluster) { e.Status.Members[1].Role = "" }}, ""},
		"between minor versions": {[]etcdEdit{func(e *databasev1alpha1.EtcdCluster) {
			e.Spec.Version, e.Status.TargetVersion = "3.7",
				"3.6.16"
		}}, ""},
		"a human must decide": {[]etcdEdit{recoveringEtcd, func(e *databasev1alpha1.EtcdCluster) {
			conditions.Set(&e.Status.Conditions, 1, commonv1.ConditionDegraded, true, commonv1.ReasonQuorumLost, "")
		}}, ""},
		"it is paused": {[]etcdEdit{recoveringEtcd, func(e *databasev1alpha1.EtcdCluster) { e.Spec.Paused = true }}, ""},
		"it is being deleted": {[]etcdEdit{recoveringEtcd, func(e *databasev1alpha1.EtcdCluster) {
			e.DeletionTimestamp = ptr.To(metav1.NewTime(time.Unix(1, 0)))
		}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := etcdChange(formedEtcd(c.edits...)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
