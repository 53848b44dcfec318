package status

import (
	"time"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

const (
	// silenceLimit is how long what was seen earlier is believed, where nothing but a server's silence speaks against it: a slow reply
	// is no news, nor is an election. The plan believes each look.
	silenceLimit = 3 * time.Second
	// waitPatience is how long a wait may last without news before it also says what it sees.
	waitPatience = 3 * time.Minute
)

// History is what earlier passes saw and waited for. It may be forgotten at any time.
type History struct {
	full   time.Time // when all that run answered, and the list of members was read
	listed time.Time // when the list was read, which takes a majority
	// wait is what is waited for, and since when; restoreWait, what the EtcdRestore waits for that is to start next.
	wait, restoreWait waiting
}

// Report adds what a pass saw, and returns the status after it: what was seen, what was just written, and what comes next. Where one
// look saw less than the others, the status stays as it was.
func (h *History) Report(in Inputs, now time.Time) databasev1alpha1.EtcdClusterStatus {
	h.noteLook(in.Situation.World, now)
	restore, _ := in.Situation.NextRestore()
	waited, restoreWaited := h.wait.note(in.Next, now), h.restoreWait.note(restore, now)
	if h.isFleeting(in.Situation.World, now) {
		return in.Cluster.Status
	}
	in.Next = explained(h.excuse(in.Next, now), in.sees(), waited)
	status := New(in)
	status.NextRestore = nextRestore(in, restore, restoreWaited)
	return status
}

func (h *History) noteLook(w membership.World, now time.Time) {
	if w.Listed {
		h.listed = now
		if !isPartial(w) {
			h.full = now
		}
	}
}

// isPartial reports whether a server whose container runs has not answered, or the list of members was not read.
func isPartial(w membership.World) bool {
	silent := w.Where(func(m membership.Member) bool {
		return isRecorded(m) && m.Pod.Permit != "" && m.Pod.HasRun && !m.Pod.Stopped && !m.Pod.Deleting && !m.View.Answered
	})
	return len(silent) > 0 || !w.Listed
}

// isFleeting reports whether a look saw less than one shortly before, and no pod shows why: the status then stays as it was.
func (h *History) isFleeting(w membership.World, now time.Time) bool {
	gone := w.Where(func(m membership.Member) bool {
		return isRecorded(m) && (m.Pod.UID == "" || m.Pod.Stopped || m.Pod.Deleting)
	})
	return isPartial(w) && len(gone) == 0 && now.Sub(h.full) < silenceLimit
}

// excuse gives members the time to choose a leader before a human is called.
func (h *History) excuse(next membership.Step, now time.Time) membership.Step {
	if next.Do == membership.Block && next.Reason == commonv1.ReasonNoQuorum && now.Sub(h.listed) < silenceLimit {
		next.Do = membership.Wait
	}
	return next
}
