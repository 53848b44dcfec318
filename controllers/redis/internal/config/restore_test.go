package config_test

import (
	"slices"
	"testing"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
)

// A backup may be forged, and was perhaps never verified: the server that loads it first checks each value in full. Only a human who names
// the very backup can have it loaded all the same.
func TestTheServerOfARestoreChecksEachValue(t *testing.T) {
	const item = "20260102T120000Z-89abcdef"
	for name, c := range map[string]struct {
		from commonv1.BackupReference
		want string
	}{
		"the latest backup is checked":                          {commonv1.BackupReference{}, "yes"},
		"the latest backup is checked, verified or not":         {commonv1.BackupReference{AllowUnverified: true}, "yes"},
		"a named backup is checked if it must be verified":      {commonv1.BackupReference{Item: item}, "yes"},
		"a named backup is not checked if it may be unverified": {commonv1.BackupReference{Item: item, AllowUnverified: true}, "no"},
	} {
		t.Run(name, func(t *testing.T) {
			command := Resolve(&cachev1alpha1.Redis{Spec: cachev1alpha1.RedisSpec{
				Bootstrap: &cachev1alpha1.RedisBootstrap{Backup: c.from}}}).RestoreCommand()
			if at := slices.Index(command, "--sanitize-dump-payload"); at < 0 || command[at+1] != c.want {
				t.Errorf("%q", command)
			}
		})
	}
}
