package etcd

import (
	"cmp"
	"fmt"
	"time"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
)

// waitPatience is how long a wait may go on without news before it also says what it sees.
const waitPatience = 3 * time.Minute

// waiting is what is waited for, and since when.
type waiting struct {
	what  string
	since time.Time
}

// note notes what a step waits for, and returns for how long it has been that.
func (w *waiting) note(next membership.Step, now time.Time) time.Duration {
	if next.Do != membership.Wait {
		*w = waiting{}
		return 0
	}
	if w.what != next.Message {
		*w = waiting{next.Message, now}
	}
	return now.Sub(w.since)
}

// noteWaits notes what the cluster waits for, and what the EtcdRestore waits for that is to begin next, and returns for how long.
func (m *memory) noteWaits(e *databasev1alpha1.EtcdCluster, next, restore membership.Step, now time.Time) (_, ofRestore time.Duration) {
	known, unlock := m.Lock(e)
	defer unlock()
	return known.wait.note(next, now), known.restoreWait.note(restore, now)
}

// explained has a wait that has had no news for a while say what is seen.
func explained(next membership.Step, seen string, waited time.Duration) membership.Step {
	if next.Do == membership.Wait && waited >= waitPatience {
		next.Message += fmt.Sprintf("; no news for %d minutes or more: %s", int(waitPatience.Minutes()), seen)
	}
	return next
}

// nextRestore is what the status says of the EtcdRestore that is to begin next. A wait that takes long also says what keeps pods from
// starting, as no condition of an EtcdRestore does.
func nextRestore(s membership.Situation, awaited membership.Step, waited time.Duration, w workload) *databasev1alpha1.EtcdNextRestore {
	if s.Request == nil || awaited.Do == "" {
		return nil
	}
	seen := s.Sees()
	if why := cmp.Or(w.failure(), conditions.FirstStartupWait(w.pods)); why != "" {
		seen += "; " + why
	}
	return &databasev1alpha1.EtcdNextRestore{RestoreUID: s.Request.UID, Message: explained(awaited, seen, waited).Phrase()}
}
