package converge

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// stuckExpiry is how long an object is remembered after the last restart of the manager that was due to it.
	stuckExpiry = 24 * time.Hour

	// maxStuckObjects and maxStuckText bound what is remembered. One namespace has at most half of all workers, that is
	// 68 passes at once, so the objects of one leader have room next to those of earlier ones. With the longest of
	// names they take a little more than half of the text.
	maxStuckObjects = 128
	maxStuckText    = 128 << 10

	// heldFrom is at how many restarts in a row an object is no longer reconciled.
	heldFrom = 2
)

// StuckObject is an object over which a pass did not end, so that the manager had to be restarted. It is kept outside
// the process, for the next leader.
type StuckObject struct {
	// Kind is one of ours, such as Redis.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// UID and Generation are those that the pass had read; empty and 0 if it had found no object.
	UID        types.UID `json:"uid,omitempty"`
	Generation int64     `json:"generation,omitempty"`
	// Restarts is how many restarts in a row were due to it, without a change of UID or Generation.
	Restarts int `json:"restarts"`
	// LastSeen is when the latest pass that did not end was seen.
	LastSeen time.Time `json:"lastSeen"`
}

// String names the object.
func (s StuckObject) String() string { return fmt.Sprintf("%s %s/%s", s.Kind, s.Namespace, s.Name) }

// isNamed reports whether both are objects of one kind and name.
func (s StuckObject) isNamed(other StuckObject) bool {
	return s.Kind == other.Kind && s.Namespace == other.Namespace && s.Name == other.Name
}

// expiresAt returns when the object is forgotten.
func (s StuckObject) expiresAt() time.Time { return s.LastSeen.Add(stuckExpiry) }

// isHeld reports whether the object, as it is in the API server, is not reconciled until it expires.
func (s StuckObject) isHeld(uid types.UID, generation int64) bool {
	return s.Restarts >= heldFrom && s.UID == uid && s.Generation == generation
}

// AddStuck adds an object that was seen at LastSeen to those that are remembered, and forgets those that have expired by
// then. If they are too many, the one that was seen longest ago is forgotten.
func AddStuck(remembered []StuckObject, seen StuckObject) []StuckObject {
	seen.Restarts = 1
	var kept []StuckObject
	for _, known := range remembered {
		switch {
		case known.isNamed(seen):
			if known.UID == seen.UID && known.Generation == seen.Generation && known.expiresAt().After(seen.LastSeen) {
				seen.Restarts = known.Restarts + 1
			}
		case known.expiresAt().After(seen.LastSeen):
			kept = append(kept, known)
		}
	}
	kept = append(kept, seen)
	slices.SortStableFunc(kept, func(a, b StuckObject) int { return a.LastSeen.Compare(b.LastSeen) })
	return kept[max(0, len(kept)-maxStuckObjects):]
}

// FormatStuck returns the objects as text.
func FormatStuck(objects []StuckObject) (string, error) {
	text, err := json.MarshalIndent(objects, "", " ")
	return string(text), err
}

// ParseStuck reads what FormatStuck has written. It refuses more than AddStuck ever keeps.
func ParseStuck(text string) ([]StuckObject, error) {
	if len(text) > maxStuckText {
		return nil, fmt.Errorf("%d bytes, want at most %d", len(text), maxStuckText)
	}
	if text == "" {
		return nil, nil
	}
	var objects []StuckObject
	if err := json.Unmarshal([]byte(text), &objects); err != nil {
		return nil, err
	}
	if len(objects) > maxStuckObjects {
		return nil, fmt.Errorf("%d objects, want at most %d", len(objects), maxStuckObjects)
	}
	return objects, nil
}
