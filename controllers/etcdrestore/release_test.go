package etcdrestore

import (
	"testing"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/releases"
)

// TestAnUpgradeRollsNothing has each release keep its EtcdRestores, so that the next one's CRD is checked against them. There is no
// workload to compare: the EtcdCluster has the pods.
func TestAnUpgradeRollsNothing(t *testing.T) {
	releases.Workloads[databasev1alpha1.EtcdRestore](t, "EtcdRestore", nil)
}
