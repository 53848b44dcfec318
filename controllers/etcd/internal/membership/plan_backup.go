package membership

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
)

// patientAttempts is how often the fetch of a backup may fail before a human is asked for help: a store may fail to answer once.
const patientAttempts = 2

// fetchBackup has the backup fetched that a cluster starts with, and returns false once it is there. No cluster is formed without it.
func (s Situation) fetchBackup() (Step, bool) {
	if !s.hasBackup() {
		return Step{}, false
	}
	return s.fetch(s.Fetch, s.Source())
}

// fetch has the backup of a source fetched by that pod, and returns false once it is there.
func (s Situation) fetch(f Fetch, source types.UID) (Step, bool) {
	switch {
	case f.UID == "":
		return Step{Do: CreateFetchPod, Source: source, Fetches: true, RequeueAfter: ShortRequeue}, true
	case f.Deleting:
		return s.awaitFetch("waiting for the former pod of the backup to end"), true
	case f.Ended, f.MaxMinor != s.LoadingVersion(source).Minor, s.isOfAnotherBackup(f, source):
		return Step{Do: DeleteFetchPod, Source: source, Fetches: true, Message: "it is recreated", RequeueAfter: ShortRequeue}, true
	case f.Item != nil:
		return s.judgeBackup(f, source)
	case f.NodeFull && f.Attempts > patientAttempts: // the kubelet would restart it on the same node
		return Step{Do: DeleteFetchPod, Source: source, Fetches: true, RequeueAfter: ShortRequeue,
			Message: "it is recreated, as the backup cannot be fetched: " + f.Error}, true
	case f.Permanent, f.Attempts > patientAttempts:
		return s.unusable(source, "the backup cannot be fetched: "+f.Error), true
	case f.Error != "":
		return s.awaitFetch("the backup cannot be fetched yet: " + f.Error), true
	}
	return s.awaitFetch("waiting for the backup to be fetched"), true
}

func (s Situation) awaitFetch(message string) Step {
	return Step{Do: Wait, Fetches: true, Message: message, RequeueAfter: time.Second}
}

// unusable asks for a human, and the fetch is retried meanwhile, as the store may be fixed.
func (s Situation) unusable(source types.UID, message string) Step {
	field := "bootstrap.backup: "
	if source != "" {
		field = "backup of the EtcdRestore: "
	}
	return Step{Do: Block, Fetches: true, Reason: commonv1.ReasonBackupUnusable, Message: field + message, RequeueAfter: time.Second}
}

// isOfAnotherBackup reports whether the pod has another backup than the recorded one, as one that was made before had chosen it.
func (s Situation) isOfAnotherBackup(f Fetch, source types.UID) bool {
	return s.BackupToFetch(source) != "" && f.Item != nil && f.Item.Item != s.BackupToFetch(source)
}

// judgeBackup refuses a backup that the members cannot load, that exceeds their quota, or that is not the recorded one. The pod has
// refused a later version, too; but it was given a version, and this is the one that counts.
func (s Situation) judgeBackup(f Fetch, source types.UID) (Step, bool) {
	item := *f.Item
	from, err := ParseVersion(item.ServerVersion)
	switch loading := s.LoadingVersion(source); {
	case err != nil:
		return s.unusable(source, fmt.Sprintf("%s: its manifest has no etcd version (%s): choose another backup", item.Item, err)), true
	case from.Minor > loading.Minor:
		return s.unusable(source, fmt.Sprintf("%s is of etcd %s, which %s cannot load: set spec.version of the EtcdCluster to %q",
			item.Item, from, loading, from.MinorString())), true
	case f.RequiresLogin && !s.RequiresLogin:
		return s.unusable(source,
			fmt.Sprintf("the data of %s asks for a login, and spec.auth of the EtcdCluster is not set, which cannot be added: "+
				"create an EtcdCluster with auth, and with this backup in spec.bootstrap", item.Item)), true
	case !s.isInRecord(source) && exceedsQuota(f.RawSize, s.Quota):
		return s.unusable(source, fmt.Sprintf("the data of %s has %d bytes, and the quota of the EtcdCluster is %d bytes, so its members "+
			"would refuse all writes (alarm NOSPACE): raise spec.quota of the EtcdCluster to %d bytes or more; "+
			"it is at most 8Gi and spec.storage.size",
			item.Item, f.RawSize, s.Quota, f.RawSize)), true
	case !s.isInRecord(source) && s.NodeDisk > 0 && s.NodeDisk < 2*f.RawSize+leastLogs:
		return s.unusable(source, fmt.Sprintf("the first member restores %d bytes next to the backup, for which its pod has no room on its "+
			"node's disk: raise resources.limits.ephemeral-storage of the EtcdCluster to %dMi or more", f.RawSize,
			inMiB(2*f.RawSize+leastLogs+otherSpace))), true
	case s.isInRecord(source) && s.restored().SHA256 != item.SHA256:
		return s.unusable(source, item.Item+" has changed in the store since the restore was started"), true
	}
	return Step{}, false
}

// exceedsQuota reports whether data of that size, in bytes, would raise the alarm NOSPACE at once. A tenth more may be free pages, which
// are given back. A quota or size of 0 is not known.
func exceedsQuota(rawSize, quota int64) bool {
	return quota > 0 && rawSize > quota && rawSize-quota > quota/10
}

// serveBackup keeps the backup at hand until the first member has started with it, and reports what prevents that.
func (s Situation) serveBackup() (Step, bool) {
	first := s.Where(func(m Member) bool { return s.startsWithBackup(m.Record) && !m.View.Answered })
	if len(first) == 0 {
		return Step{}, false
	}
	if next, ok := s.blockWhileLockedOut(); ok { // it has started with the backup, and serves who logs in
		return next, true
	}
	if next, ok := s.fetchBackup(); ok {
		return next, true
	}
	if m := first[0]; m.Pod.Unusable != "" {
		return s.unusable(s.Source(), fmt.Sprintf("%s cannot start with %s: %s", m.Name, s.restored().Item, m.Pod.Unusable)), true
	}
	if next, ok := s.blockOnForeignData(); ok {
		return next, true
	}
	return Step{Do: Wait, RequeueAfter: ShortRequeue, Message: fmt.Sprintf("waiting for %s to start with backup %s%s",
		first[0].Name, s.restored().Item, s.laterEdits())}, true
}

// endRestore lets the pod of the backup go once the first member has started with it and runs.
func (s Situation) endRestore() (Step, bool) {
	starts := slices.ContainsFunc(s.Status.Membership.Members,
		func(one databasev1alpha1.EtcdRecordedMember) bool { return s.startsWithBackup(&one) })
	left := s.restored() != nil || s.Fetch.UID != "" && !s.Fetch.Deleting || len(s.Strays) > 0
	return Step{Do: EndRestore}, left && !starts
}

// withoutData says what a cluster starts with that continues without any member's data.
func (s Situation) withoutData() string {
	switch {
	case s.Source() != "":
		return "with the backup of the EtcdRestore"
	case s.FromBackup:
		return "with the backup of spec.bootstrap"
	}
	return "without any data"
}
