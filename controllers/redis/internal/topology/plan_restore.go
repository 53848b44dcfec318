package topology

import (
	"fmt"
	"strings"
	"time"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// A Redis that is to start with a backup has no master until it is loaded. The pod <name>-restore fetches the backup and serves it
// as a master that no client can write to; one node copies from it as a replica does, and is promoted. That node is the first one,
// always: so there are never two. What a node copies replaces what it has, so that only a node without data copies; and data
// that may be any other than the backup's stops all.

// Source is the pod that serves the backup, and its server.
type Source struct {
	Node
	// Item that was fetched; empty while that is under way.
	Item string
	// Warning is what a human should know of that item; empty if it is nothing.
	Warning string
	// Expiry says how many keys of that item may be gone by now; empty if none.
	Expiry string
	// Failure is why the pod has ended, in the words of the store or the server, and SinceFailure how long ago; empty while it
	// continues.
	Failure      string
	SinceFailure time.Duration
	// SizeWithoutRoom is the least size of the backup, in bytes, if the pod's node had no room for it; else 0.
	SizeWithoutRoom int64
	// Wait is what keeps the pod from starting; empty if nothing does.
	Wait string
}

const (
	// firstRestoreRetry is how long a failed pod is left before another is made. It doubles with each failure.
	firstRestoreRetry = 10 * time.Second
	// maxRestoreRetry bounds that time: a user who has fixed a Secret does not wait longer.
	maxRestoreRetry = 2 * time.Minute
)

// IsRestoring reports whether the Redis is to start with a backup and has had no master yet. The record of a Redis from before its
// bootstrap was set has an epoch.
func (s Situation) IsRestoring() bool {
	if s.Bootstrap == nil || s.Status.Replication != nil {
		return false
	}
	if done := s.Status.Restore; done != nil {
		return done.Phase != cachev1alpha1.RedisRestoreCompleted
	}
	return s.Status.Epoch == 0
}

// loader is the node that loads the backup.
func (s Situation) loader() Node {
	m, _ := s.Find(s.NodeNames()[0])
	return m
}

// isLoader reports whether a node is the recorded process that loads the backup.
func (s Situation) isLoader(m Node) bool {
	record := s.Status.Restore
	return record != nil && record.Loader != nil && m.IsProcess(*record.Loader)
}

// hasLoaded reports whether a node has the whole backup. A process that copies has its master's history only when it has all. One
// that was restarted has what is on its disk: that is nothing, or all, as a server puts a copy there as a whole.
func (s Situation) hasLoaded(m Node) bool {
	record := s.Status.Restore
	switch {
	case record == nil || record.Loader == nil || record.Loader.Name != m.Name || !m.Answers():
		return false
	case s.isLoader(m):
		return m.ReplID == record.ReplID
	}
	return m.Keys > 0
}

// restore loads the backup. No server is master.
func (s Situation) restore() Step {
	loader := s.loader()
	astray := s.Where(func(m Node) bool {
		return m.Answers() && !m.Fenced() && (m.Name != loader.Name || s.hasLoaded(m) && s.keepsItsData(m) || s.Source == nil ||
			!m.Follows(s.Source.Address))
	})
	if len(astray) > 0 {
		return Step{Do: Fence, NodeNames: NamesOf(astray), Message: "spec.bootstrap.backup: there is no master yet"}
	}
	if next, ok := s.refuseToOverwrite(); ok {
		return next
	}
	switch missing := s.nodesToHear(); {
	case loader.Loading && s.isCopying(loader):
		return s.awaitRestore(loader.Name + " loads the backup")
	case len(missing) > 0:
		return s.awaitRestore("waiting for " + strings.Join(missing, ", ") + " to start: they may have data")
	case s.hasLoaded(loader) && !s.keepsItsData(loader):
		return s.awaitRestore(loader.Name + " writes what it has loaded to its disk")
	case s.hasLoaded(loader):
		return Step{Do: Promote, NodeNames: []string{loader.Name}, Reason: commonv1.ReasonRestored}
	}
	return s.load(loader)
}

// keepsItsData reports whether a node that appends its writes to a file has written what it copied to that file: else its next
// start would find nothing.
func (s Situation) keepsItsData(m Node) bool { return !m.AOF || !m.Rewriting && m.Rewritten }

// refuseToOverwrite stops at data that is not known to be the backup's.
func (s Situation) refuseToOverwrite() (Step, bool) {
	where := NamesOf(s.Where(func(m Node) bool {
		return m.Answers() && (m.Keys > 0 || m.Pinned) && !s.hasLoaded(m) && !s.isCopying(m)
	}))
	if stamped := s.newestVolumes(); len(stamped) > 0 {
		where = stamped
	}
	if len(where) == 0 {
		return Step{}, false
	}
	return Step{Do: Block, Reason: commonv1.ReasonDataExists, RequeueAfter: 10 * ShortRequeue, Message: fmt.Sprintf(
		"spec.bootstrap.backup is not loaded: %s has data, or had it, and a backup never overwrites data. To keep that data, remove "+
			"spec.bootstrap; "+
			"to replace it, delete this Redis with its PersistentVolumeClaims and create it again", strings.Join(where, ", "))}, true
}

// isCopying reports whether the node is the recorded process and follows the pod that serves the backup: a copy that was cut
// short starts over by itself.
func (s Situation) isCopying(m Node) bool {
	return s.isLoader(m) && s.Source != nil && m.Follows(s.Source.Address)
}

// load brings the backup to a node that has no data.
func (s Situation) load(loader Node) Step {
	source := s.Source
	switch {
	case source == nil:
		return Step{Do: CreateRestorePod, Message: "spec.bootstrap.backup"}
	case source.Deleting:
		return s.awaitRestore("waiting for the previous restore pod " + source.Name + " to end")
	case source.Failure != "":
		return s.retryRestore(source)
	case source.Answer == wire.AuthFailed:
		return Step{Do: DeleteRestorePod, NodeNames: []string{source.Name}, Message: "it does not know the operator's password",
			RequeueAfter: time.Second}
	case source.Answer != wire.Reached || source.Loading || !source.Master:
		return s.awaitRestore("pod " + source.Name + " fetches the backup" + prefixed(": ", source.Wait))
	case loader.Keys == 0 && (!s.isCopying(loader) || s.Status.Restore.ReplID != source.ReplID || !loader.LinkUp && !loader.Syncing &&
		!loader.LoginSent):
		return Step{Do: LoadBackup, NodeNames: []string{loader.Name}, Message: "backup " + source.Item}
	}
	return s.awaitRestore(loader.Name + " loads the backup " + s.Status.Restore.Item)
}

// retryRestore says why the backup could not be used, and makes another pod a while later: somebody may have fixed the store, its
// Secret, or the network.
func (s Situation) retryRestore(source *Source) Step {
	failures := int32(0)
	if record := s.Status.Restore; record != nil {
		failures = record.Failures
	}
	left := min(maxRestoreRetry, firstRestoreRetry<<min(failures, 8)) - source.SinceFailure
	if left > 0 {
		return Step{Do: Block, Reason: commonv1.ReasonBackupUnusable, RequeueAfter: left, Message: fmt.Sprintf(
			"spec.bootstrap.backup cannot be loaded: %s; it is tried again, and until then there is no master", source.Failure)}
	}
	return Step{Do: DeleteRestorePod, NodeNames: []string{source.Name}, Message: source.Failure, RequeueAfter: time.Second}
}

func (s Situation) awaitRestore(why string) Step {
	return Step{Do: Wait, Reason: commonv1.ReasonRestoring, Message: why, RequeueAfter: 10 * ShortRequeue}
}

// endRestore deletes the pod that served a backup once nothing is loaded from it.
func (s Situation) endRestore(Node) (Step, bool) {
	if s.Source == nil || s.Source.Deleting {
		return Step{}, false
	}
	return Step{Do: DeleteRestorePod, NodeNames: []string{s.Source.Name}, Message: "no backup is loaded any more", RequeueAfter: time.Second},
		true
}

// prefixed puts a prefix before a text, unless that is empty.
func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}
