package etcd

import (
	"testing"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/test/releases"
)

func TestAnUpgradeRollsNothing(t *testing.T) {
	releases.Workloads(t, "EtcdCluster", func(e *databasev1alpha1.EtcdCluster) any {
		version := membership.Version{Minor: 6, Patch: 16}
		return statefulSet(e, childInputs{spec: resolve(e, nil), image: "etcd:v" + version.String(), launcherImage: "operator", version: version,
			initialVersion: version.String(), pods: 3})
	})
}
