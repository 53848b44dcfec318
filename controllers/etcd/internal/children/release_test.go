package children

import (
	"testing"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/releases"
)

func TestAnUpgradeRollsNothing(t *testing.T) {
	releases.Workloads(t, "EtcdCluster", func(e *databasev1alpha1.EtcdCluster) any { return statefulSet(keptInputs(e)) })
}
