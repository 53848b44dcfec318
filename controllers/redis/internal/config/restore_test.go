package config_test

import (
	"slices"
	"testing"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
)

// A backup may be forged, and was perhaps never verified: the server that loads it first checks each value in full.
func TestTheServerOfARestoreChecksEachValue(t *testing.T) {
	command := Resolve(&cachev1alpha1.Redis{}).RestoreCommand()
	if at := slices.Index(command, "--sanitize-dump-payload"); at < 0 || command[at+1] != "yes" {
		t.Errorf("%q", command)
	}
}
