package node

import "time"

// Answer is how a server took to being spoken to.
type Answer int

const (
	// Silent : no answer in time, or no way there. Says nothing about the process.
	Silent Answer = iota
	// Refused : nobody listens at that address; tried twice.
	Refused
	// AuthFailed : somebody answers who does not know our password.
	AuthFailed
	// Reached : the server answered.
	Reached
)

// FenceHost is the master of a server that follows nobody: itself, which refuses.
const FenceHost = "127.0.0.1"

// View is what one server says of itself.
type View struct {
	Answer Answer
	// Unreadable is why an answer cannot be read, which then counts as none; "" when it can.
	Unreadable string

	RunID   string // of the process
	Version string
	Loading bool // reads its data from disk
	Keys    int64

	Master     bool
	MasterHost string        // whom a replica follows
	LinkUp     bool          // and hears
	Syncing    bool          // or is being sent all of its data
	LastIO     time.Duration // since it heard of its master, or had a link to it; -1 s when it never had one
	ReplID     string        // history that the data belongs to
	// Offset in that history: what a master has written, or what a replica has taken in.
	Offset int64
	// FormerReplID is the history before the last promotion, the server's own or its master's;
	// the data belongs to it up to FormerOffset.
	FormerReplID string
	FormerOffset int64
	// Pinned : the process has a replication backlog. A master with one keeps its ReplID when a
	// replica attaches; a replica with one has been in sync since it started, so that its ReplID
	// is not only what its file says.
	Pinned bool

	MinReplicas int32    // min-replicas-to-write
	ServesStale bool     // a replica answers reads while it does not hear its master
	Misconf     bool     // it could not write to its disk, and takes no writes until it can
	Certificate string   // file of the one that it presents; none without TLS
	Attached    []string // addresses of the first maxAttached replicas that a master feeds
	Copying     []string // those of them that wait for all of its data, or are being sent it

	AOF       bool  // it appends its writes to a file
	Rewriting bool  // which it writes anew, and cannot end until it has the first
	Rewritten bool  // which the last rewrite did not fail for
	Saving    bool  // it writes a snapshot
	SavedAt   int64 // when it has taken the last, or started; in Unix seconds
}

// Fenced is true for a replica of nobody: it takes no writes and attaches to no one.
func (v View) Fenced() bool { return v.Answer == Reached && !v.Master && v.MasterHost == FenceHost }

// Follows is true for a replica of that master, in sync or not.
func (v View) Follows(address string) bool {
	return v.Answer == Reached && !v.Master && v.MasterHost == address
}

// OffsetIn tells how far the server has that history, now its own or its former one; has is
// false when it is neither.
func (v View) OffsetIn(replID string) (offset int64, has bool) {
	switch replID {
	case v.ReplID:
		return v.Offset, true
	case v.FormerReplID:
		return min(v.Offset, v.FormerOffset), true
	}
	return 0, false
}
