package etcd

import (
	"fmt"
	"time"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// waitPatience is how long a wait may go on without news before it also says what it sees.
const waitPatience = 3 * time.Minute

// waiting is what is waited for, and since when.
type waiting struct {
	what  string
	since time.Time
}

// noteWait notes what a step waits for, and returns for how long it has been that.
func (m *memory) noteWait(e *databasev1alpha1.EtcdCluster, next membership.Step, now time.Time) time.Duration {
	known, unlock := m.Lock(e)
	defer unlock()
	if next.Do != membership.Wait {
		known.wait = waiting{}
		return 0
	}
	if known.wait.what != next.Message {
		known.wait = waiting{next.Message, now}
	}
	return now.Sub(known.wait.since)
}

// explained has a wait that has had no news for a while say what it sees.
func explained(next membership.Step, s membership.Situation, waited time.Duration) membership.Step {
	if next.Do == membership.Wait && waited >= waitPatience {
		next.Message += fmt.Sprintf("; no news for %d minutes or more: %s", int(waitPatience.Minutes()), s.Sees())
	}
	return next
}
