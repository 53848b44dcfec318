package fleet

import (
	"context"
	"errors"
	"testing"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// listedBackups are effects of an API server that has these EtcdBackups.
type listedBackups struct {
	savedEffects
	list []membership.Backup
}

func (l listedBackups) ReadBackups(context.Context) ([]membership.Backup, error) { return l.list, nil }

// A backup by a schedule that was made right before the edit of the version may not be in the cache yet.
func TestTheAPIServerIsAskedForBackupsBeforeAMinorVersion(t *testing.T) {
	nightly := membership.Backup{UID: "nightly", Name: "nightly", Scheduled: true}
	made := membership.Backup{UID: "made", Name: "a-before-3-7", Own: true, Token: "t", Complete: true}
	for _, c := range []struct {
		name    string
		version string
		listed  []membership.Backup
		waits   bool
	}{
		{"a minor version waits for a backup", "3.7.3", []membership.Backup{nightly}, true},
		{"a patch waits for none", "3.6.15", []membership.Backup{nightly}, false},
		{"a minor version follows a backup", "3.7.3", []membership.Backup{made, nightly}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := &databasev1alpha1.EtcdCluster{Status: databasev1alpha1.EtcdClusterStatus{TargetVersion: "3.6.16",
				Membership: &databasev1alpha1.EtcdMembership{Token: "t"}}}
			f := &Fleet{Cluster: e, Spec: membership.Spec{Name: "a", Namespace: "ns"}, Effects: listedBackups{list: c.listed}}
			err := f.Act(t.Context(), membership.Step{Do: membership.SetVersion, Version: c.version, Image: "image"})
			if errors.Is(err, errNotBackedUp) != c.waits || (e.Status.TargetVersion == c.version) == c.waits ||
				(e.Status.TargetImage == "image") == c.waits {
				t.Errorf("%v: %s, %s", err, e.Status.TargetVersion, e.Status.TargetImage)
			}
		})
	}
}
