package wire

import "time"

// Answer is how a server answered.
type Answer int

const (
	// Silent means no answer in time, or no route there. It says nothing about the process.
	Silent Answer = iota
	// Refused means that no server listens at that address; it was tried twice.
	Refused
	// AuthFailed means that somebody answers who does not know our password.
	AuthFailed
	// Reached means that the server answered.
	Reached
	// ErrorReply means that a server which accepted our login answers with an error, such as BUSY: it lives, and
	// nothing more is known of it. View.ErrorCode is its first word.
	ErrorReply
	// Unconfirmed means that somebody accepts connections, and that nothing was sent: the API server did not say in time whose
	// address it is. It says nothing about the process.
	Unconfirmed
)

// Busy is the code with which a server answers every command, but for a few, while a script, a function or a module's
// command runs for longer than busy-reply-threshold (isInsideYieldingLongCommand in Redis' server.c).
const Busy = "BUSY"

// FenceHost is the master that a fenced server is given: itself, which refuses. So it follows no other.
const FenceHost = "127.0.0.1"

// View is what one server says of itself.
type View struct {
	Answer Answer
	// Unreadable is why an answer cannot be read, which then counts as none; "" when it can.
	Unreadable string
	// ErrorCode is the code of an ErrorReply; "" for any other answer.
	ErrorCode string

	RunID   string // of the process
	Version string
	Loading bool // reads its data from disk
	Keys    int64

	Master     bool
	MasterHost string        // the master that a replica follows
	LinkUp     bool          // the replica hears its master
	Syncing    bool          // the replica is being sent all of its master's data
	LastIO     time.Duration // since it last heard its master or, with the link down, was linked; -1 s when it never was
	ReplID     string        // the history that the data belongs to
	// Offset is the position in that history: what a master has written, or what a replica has received.
	Offset int64
	// FormerReplID is the history before the last promotion, the server's own or its master's;
	// the data belongs to it up to FormerOffset.
	FormerReplID string
	FormerOffset int64
	// Pinned says that the process has a replication backlog. A master with one keeps its ReplID
	// when a replica attaches; a replica with one has been in sync since it started, so that its
	// ReplID is not only what its file says.
	Pinned bool

	MinReplicas int32    // min-replicas-to-write
	ServesStale bool     // a replica answers reads while it does not hear its master
	Misconf     bool     // it could not write to its disk, and takes no writes until it can
	Certificate string   // file of the certificate that it presents; empty without TLS
	Attached    []string // addresses of the first maxAttached replicas that a master feeds
	Copying     []string // those of Attached that wait for a full copy, or are being sent one

	AOF       bool  // it appends its writes to a file
	Rewriting bool  // it rewrites that file, and cannot shut down until it has written the first
	Rewritten bool  // the last rewrite of that file did not fail
	Saving    bool  // it writes a snapshot
	SavedAt   int64 // when it took the last snapshot, or started; in Unix seconds
}

// Fenced reports whether the server follows no other: it takes no writes.
func (v View) Fenced() bool { return v.Answer == Reached && !v.Master && v.MasterHost == FenceHost }

// Follows reports whether the server is a replica of that master, in sync or not.
func (v View) Follows(address string) bool {
	return v.Answer == Reached && !v.Master && v.MasterHost == address
}

// OffsetIn returns up to which offset the server has that history. has reports whether it is its
// own, present or former.
func (v View) OffsetIn(replID string) (offset int64, has bool) {
	switch replID {
	case v.ReplID:
		return v.Offset, true
	case v.FormerReplID:
		return min(v.Offset, v.FormerOffset), true
	}
	return 0, false
}
