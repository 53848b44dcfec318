package status

import (
	"cmp"
	"fmt"
	"time"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
)

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

// explained has a wait that has had no news for a while say what is seen.
func explained(next membership.Step, seen string, waited time.Duration) membership.Step {
	if next.Do == membership.Wait && waited >= waitPatience {
		next.Message += fmt.Sprintf("; no news for %d minutes or more: %s", int(waitPatience.Minutes()), seen)
	}
	return next
}

// nextRestore is what the status says of the EtcdRestore that is to start next. A wait that takes long also says what keeps pods from
// starting, as no condition of an EtcdRestore does.
func nextRestore(in Inputs, awaited membership.Step, waited time.Duration) *databasev1alpha1.EtcdNextRestore {
	s := in.Situation
	if s.Request == nil || awaited.Do == "" {
		return nil
	}
	seen := s.Sees()
	if why := cmp.Or(in.failure(), conditions.FirstStartupWait(in.Pods)); why != "" {
		seen += "; " + why
	}
	return &databasev1alpha1.EtcdNextRestore{RestoreUID: s.Request.UID, Message: explained(awaited, seen, waited).Phrase()}
}
