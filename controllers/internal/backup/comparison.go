package backup

import (
	"fmt"
	"strings"
)

// Comparison is what became of comparing the members of an etcd before one of them was read. A disk that changes data without an error
// gives a snapshot that is whole, and that a server starts from: only another member shows that it is wrong.
type Comparison struct {
	// With names the member that has the same data as the one that was read; empty if none was compared.
	With string `json:"with,omitempty"`
	// Revision at which they were compared: what was committed when the backup started.
	Revision int64 `json:"revision,omitempty"`
	// Hash of their keys at that revision, and CompactRevision up to which both had compacted, as etcd's HashKV has them.
	Hash            uint32 `json:"hash,omitempty"`
	CompactRevision int64  `json:"compactRevision,omitempty"`
	// Outvoted names the members that have other data than most. None of them was read.
	Outvoted []string `json:"outvoted,omitempty"`
	// Skipped says why no member was compared.
	Skipped string `json:"skipped,omitempty"`
}

// MaxComparison bounds what a Result says of a comparison, in bytes.
const MaxComparison = 256

// Found is what a Result says of the comparison: why there was none, and which members differ. Both are empty if two members agreed, and
// of a Redis.
func (c *Comparison) Found() (notCompared, membersDiffer string) {
	if c == nil {
		return "", ""
	}
	if len(c.Outvoted) > 0 {
		membersDiffer = fmt.Sprintf("%s: the data differs at revision %d from that of %s and of the member that was read",
			strings.Join(c.Outvoted, ", "), c.Revision, c.With)
	}
	return c.Skipped, membersDiffer
}

// comparedWith is With of a comparison that may be missing.
func (c *Comparison) comparedWith() string {
	if c == nil {
		return ""
	}
	return c.With
}
