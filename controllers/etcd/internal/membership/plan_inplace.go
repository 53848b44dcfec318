package membership

import (
	"fmt"
	"strings"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
)

// firstBump is the first patch of 3.5 whose etcdutl raises revisions. Later minor versions do so from the start.
var firstBump = Version{5, 35}

// prepareRestore has the backup of an EtcdRestore fetched and checked while everything else continues, and then starts: a backup that is
// of no use touches nothing. It takes no quorum, as a restore may be what is needed.
func (s Situation) prepareRestore() (Step, bool) {
	if !s.mayPrepare() {
		return Step{}, false
	}
	switch next, ok := s.awaitRequest(); {
	case !ok:
		return Step{Do: StartRestore, Source: s.Request.UID, Message: "EtcdRestore asks for it", Restore: &databasev1alpha1.EtcdMembershipRestore{
				EtcdRestoredBackup: *s.Next.Item, RestoreUID: s.Request.UID, From: &s.Request.Backup, RevisionBump: s.bumpOver(s.Next.Item.Revision)}},
			true
	case next.Do == CreateFetchPod, next.Do == DeleteFetchPod:
		return next, true
	}
	return Step{}, false
}

// bumpOver is by how much the revisions of a backup are raised, so that none that a client may have seen comes again: also where
// another backup took the place of the data before, and no server answers now.
func (s Situation) bumpOver(revision int64) int64 {
	seen := s.Other.Revision
	for _, m := range s.Members {
		seen = max(seen, m.View.Revision)
	}
	if last := s.Status.LastRestore; last != nil {
		seen = max(seen, last.Revision+last.RevisionBump)
	}
	if started := s.restored(); started != nil {
		seen = max(seen, started.Revision+started.RevisionBump)
	}
	return max(0, min(seen, maxRevision)-max(0, revision)) + revisionBump
}

// mayPrepare reports whether there is an EtcdRestore that may start. A cluster that is forming for the first time does so first, and
// so does one whose first member has started with the backup of another.
func (s Situation) mayPrepare() bool {
	switch {
	case s.Request == nil || s.Status.Membership == nil:
		return false
	case s.restored() == nil:
		return s.Status.Membership.ClusterID != ""
	}
	return s.Source() != "" && s.Source() != s.Request.UID && s.awaitsFirst()
}

// awaitRequest is what an EtcdRestore waits for before it starts; it is not ok once nothing is.
func (s Situation) awaitRequest() (Step, bool) {
	if next, ok := s.fetch(s.Next, s.Request.UID); ok {
		return next, true
	}
	if loading := s.LoadingVersion(s.Request.UID); loading.Compare(firstBump) < 0 {
		return s.unusable(s.Request.UID, fmt.Sprintf(
			"etcdutl %s cannot raise revisions, which a restore in place needs: set spec.version of the EtcdCluster to %s or later", loading,
			firstBump)), true
	}
	return s.awaitRoom()
}

// awaitRoom refuses a backup that the volume of the first member has no room for. While that member does not answer, this is unknown: it
// is waited for, but not without a majority, as a restore may be the only way on.
func (s Situation) awaitRoom() (Step, bool) {
	if !s.HasStorage || s.Next.RawSize == 0 {
		return Step{}, false
	}
	first, _ := s.Find(s.MemberName(0))
	volume := first.Pod.DiskSize
	switch {
	case s.Listed && volume == 0:
		return s.awaitFetch(fmt.Sprintf("waiting for the size of the volume of %s to be known", first.Name)), true
	case s.Listed && !first.View.Answered && !first.Pod.Stopped: // one that ends again and again is repaired by the restore
		return s.awaitFetch(fmt.Sprintf("waiting for %s to answer, as it is not known whether its volume has room for the restore", first.Name)),
			true
	}
	data := s.Other.DBSize
	for _, m := range s.Members { // that of the first may have been lost, and is on its way back
		data = max(data, m.View.DBSize)
	}
	if needed := data + 2*s.Next.RawSize + logsOn(volume); volume > 0 && volume < needed {
		return s.unusable(s.Request.UID,
			fmt.Sprintf("the volume of %s has %d bytes and needs %d, because the present data stays until the restore "+
				"succeeds: raise spec.storage.size of the EtcdCluster%s",
				first.Name, volume, needed, s.ExplainKeptData())), true
	}
	return Step{}, false
}

// NextRestore is what the EtcdRestore waits for that is to start next; it is not ok if there is none.
func (s Situation) NextRestore() (Step, bool) {
	if s.Request == nil || s.Source() == s.Request.UID && s.restored() != nil {
		return Step{}, false
	}
	next := Step{Do: Wait, Message: "waiting for the cluster to form"}
	switch {
	case s.mayPrepare():
		next.Message = "it is about to start"
		if step, ok := s.awaitRequest(); ok {
			next = step
		}
	case s.Source() != "":
		next.Message = "waiting for the restore under way to end"
	}
	return next, true
}

// stopFormer stops all former members once a restore is recorded: only then does the first start with the backup. They are not
// adopted, whatever they answer.
func (s Situation) stopFormer() (Step, bool) {
	former := s.former()
	for _, m := range former {
		if !m.Pod.Deleting {
			return Step{Do: DeletePod, Member: m.Name, Message: "a backup takes the place of its data", RequeueAfter: ShortRequeue}, true
		}
	}
	return Step{Do: Wait, Message: "waiting for " + strings.Join(NamesOf(former), ", ") + " to end before the restore",
		RequeueAfter: ShortRequeue}, len(former) > 0
}
