package backup

import (
	"fmt"
	"time"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// Result is what a container of the runner leaves as its termination message, as JSON of at most MaxResult bytes.
type Result struct {
	// Error is the store's or the server's error message; empty if nothing did. A secret is never in it.
	Error string `json:"error,omitempty"`
	// Permanent: another attempt would fail in the same way, until a human changes something.
	Permanent bool `json:"permanent,omitempty"`
	// NodeFull: the node's disk has no room for the data. Another node may have it.
	NodeFull bool `json:"nodeFull,omitempty"`
	// Item that was written, fetched or verified.
	Item *commonv1.BackupItem `json:"item,omitempty"`
	// RawSize of the data before its compression, in bytes; if there was no room for it, what it has at least. Only backup and fetch have it.
	RawSize int64 `json:"rawSize,omitempty"`
	// RequiresLogin: a server that starts from what was fetched serves only who has logged in. Only fetch has it, of an etcd.
	RequiresLogin bool `json:"requiresLogin,omitempty"`
	// Keys of a Redis' dump that was fetched, and those of them that have a time to live, as its manifest has them. Only fetch has them.
	Keys    int64 `json:"keys,omitempty"`
	Expires int64 `json:"expires,omitempty"`
	// Items are the newest in the folder, after retention, the newest first; as many as fit. Only finish has them.
	Items []commonv1.BackupItem `json:"items,omitempty"`
	// Warning says what was not deleted, and why: the backup itself is as it should be. A secret is never in it.
	Warning string `json:"warning,omitempty"`
	// NotCompared says why the member of an etcd that was read was compared with no other. Only backup has it.
	NotCompared string `json:"notCompared,omitempty"`
	// MembersDiffer says which members of an etcd have other data than most. None of them was read. Only backup has it.
	MembersDiffer string `json:"membersDiffer,omitempty"`
	// Held says why retention deleted no backup: somebody has to look. Only finish has it.
	Held string `json:"held,omitempty"`
}

// ExpiryNote says how many keys of a backup that was fetched may be gone by now; empty if none.
func (r Result) ExpiryNote() string {
	if r.Expires <= 0 || r.Item == nil {
		return ""
	}
	return fmt.Sprintf("%d of the %d keys in the backup of %s had a time to live. Keys that have expired since are not loaded",
		r.Expires, max(r.Keys, r.Expires), r.Item.Time.UTC().Format(time.RFC3339))
}

// MaxHeld bounds Result.Held, in bytes.
const MaxHeld = 512

// MaxResult bounds a Result, in bytes. Kubelet gives all containers of a pod 12 KiB together, and each no more than 4 KiB
// (pkg/kubelet/container/runtime.go, MaxContainerTerminationMessageLength and MaxPodTerminationMessageLogLength): five have
// 2457 bytes each.
const MaxResult = 2 << 10
