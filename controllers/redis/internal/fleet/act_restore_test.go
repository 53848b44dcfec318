package fleet

import (
	"testing"

	"k8s.io/client-go/tools/events"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// A human who restores a backup reads in an event how many keys may be gone by now.
func TestARestoreReportsKeysThatMayHaveExpired(t *testing.T) {
	recorder := events.NewFakeRecorder(2)
	f := New(&Operator{Converger: &converge.Converger{Events: recorder}}, fixture.Sized(1), nil, nil)
	f.Source = &topology.Source{Expiry: "3 of the 10 keys may be gone"}
	f.reportSource()
	close(recorder.Events)
	var reported []string
	for event := range recorder.Events {
		reported = append(reported, event)
	}
	if len(reported) != 1 || reported[0] != "Normal KeysExpire 3 of the 10 keys may be gone" {
		t.Errorf("reported %q", reported)
	}
}
