package membership

import (
	"fmt"
	"strings"
	"time"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// followPatch takes another patch or image of the same minor version at once: members of one minor version get along.
func (s Situation) followPatch() (Step, bool) {
	now, err := ParseVersion(s.Status.TargetVersion)
	if err != nil || s.WantedError != "" || s.Wanted.Minor != now.Minor {
		return Step{}, false
	}
	image := s.imageFor(s.Wanted)
	return s.setVersion(s.Wanted, image), s.Wanted != now || image != s.Status.TargetImage
}

func (s Situation) setVersion(v Version, image string) Step {
	return Step{Do: SetVersion, Version: v.String(), Image: image}
}

// correctImage ends the plan while a member runs another minor version than the one that its image was chosen for.
func (s Situation) correctImage() (Step, bool) {
	now, err := ParseVersion(s.Status.TargetVersion)
	wrong := s.Where(func(m Member) bool {
		return m.Record != nil && m.Pod.Image == s.Status.TargetImage && m.View.Version != (Version{}) && m.View.Version.Minor != now.Minor
	})
	if err != nil || len(wrong) == 0 {
		return Step{}, false
	}
	runs := wrong[0].View.Version
	switch {
	case s.Image != "" && s.Image != s.Status.TargetImage:
		return s.setVersion(now, s.Image), true
	case runs.Minor == s.Wanted.Minor: // the version has followed the image
		return s.continueUpgrade()
	}
	return Step{Do: Block, Reason: commonv1.ReasonInvalidSpec, Message: fmt.Sprintf(
		"image: %s was to hold etcd %s, and %s runs %s with it; no further pod is recreated: set image to one that holds %s",
		s.Status.TargetImage, now.MinorString(), wrong[0].Name, runs, now.MinorString())}, true
}

// continueUpgrade chooses the version to run next, once all members run the version of now and have agreed on it. Without
// that wait the first member of the next version may find entries in its log that it cannot read.
func (s Situation) continueUpgrade() (Step, bool) {
	if s.WantedError != "" {
		return Step{Do: Block, Reason: commonv1.ReasonUpgradeBlocked, Message: "version: " + s.WantedError}, true
	}
	now, err := ParseVersion(s.Status.TargetVersion)
	if err != nil {
		return Step{Do: Block, Reason: commonv1.ReasonUpgradeBlocked, Message: "status.targetVersion: " + err.Error()}, true
	}
	if s.Wanted.Minor == now.Minor {
		return Step{}, false // followPatch has seen to it
	}
	if why := s.explainNoRollback(); why != "" {
		return Step{Do: Block, Reason: commonv1.ReasonUpgradeBlocked, RequeueAfter: time.Second, Message: why}, true
	}
	next, err := NextVersion(s.oldestOf(now), s.Wanted)
	switch {
	case err != nil:
		return Step{Do: Block, Reason: commonv1.ReasonUpgradeBlocked, Message: "version: " + err.Error()}, true
	case s.Image != "" && next != s.Wanted:
		return Step{Do: Block, Reason: commonv1.ReasonUpgradeBlocked, Message: fmt.Sprintf(
			"image: it serves one version, and etcd %s comes between %s and %s: drop image, and the operator's own images go there by themselves",
			next, now, s.Wanted)}, true
	}
	if next == now && s.imageFor(next) == s.Status.TargetImage {
		message := fmt.Sprintf("waiting for all members to run %s before %s", now, s.Wanted)
		return Step{Do: Wait, RequeueAfter: ShortRequeue, Message: message}, true
	}
	disagree := s.Where(func(m Member) bool {
		another := m.View.Version.Minor != now.Minor && m.View.Version.Minor != next.Minor
		return m.Record != nil && (another || m.View.ClusterVersion != now.MinorString())
	})
	if len(disagree) > 0 {
		return Step{Do: Wait, RequeueAfter: ShortRequeue, Message: fmt.Sprintf(
			"waiting for %s to agree on version %s before %s", strings.Join(NamesOf(disagree), ", "), now.MinorString(), next)}, true
	}
	if drop, ok := s.dropOldEntries(next); ok {
		return drop, true
	}
	if backup, ok := s.AwaitBackup(next); ok {
		return backup, true
	}
	return s.setVersion(next, s.imageFor(next)), true
}

// oldestOf returns the oldest patch of a version's minor version that a member runs: an image may hold another than its version
// says.
func (s Situation) oldestOf(target Version) Version {
	oldest := target
	for _, m := range s.Where(func(m Member) bool { return m.Record != nil && m.View.Version.Minor == target.Minor }) {
		if m.View.Version.Compare(oldest) < 0 {
			oldest = m.View.Version
		}
	}
	return oldest
}

// dropOldEntries has every member take a snapshot, and drop the entries before it that the next version cannot read. All
// members run the version of now, which writes no such entry. One that has applied SnapshotCount entries more than there were
// then has a snapshot after the last of them.
func (s Situation) dropOldEntries(next Version) (Step, bool) {
	record := s.Status.Membership
	initial, _ := ParseVersion(record.InitialVersion) // of a record without one the strictest is true: it is old
	if !dropsOldEntries(initial, next) {
		return Step{}, false
	}
	if record.ReadableFrom == 0 {
		return Step{Do: LimitLog}, true
	}
	readable := uint64(record.ReadableFrom) //nolint:gosec // set from an index
	behind := s.Where(func(m Member) bool { return m.Record != nil && m.View.Applied < readable })
	message := "old entries of the log are dropped before " + next.String()
	return Step{Do: WriteEntries, Message: message, RequeueAfter: ShortRequeue}, len(behind) > 0
}

// ReadableFrom is the index from which on the next version can read the logs of all members.
func (s Situation) ReadableFrom() int64 {
	var last uint64
	for _, m := range s.Members {
		last = max(last, m.View.Index)
	}
	return int64(last) + SnapshotCount + 1 //nolint:gosec // an index of raft is far below 2^63
}
