package membership

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// Backup is an EtcdBackup in the cluster's namespace.
type Backup struct {
	UID  types.UID
	Name string
	// Scheduled: it backs this cluster up by a schedule, and neither is suspended nor goes.
	Scheduled bool
	// Own: it was made before an upgrade of this cluster, while Token was recorded: a restore puts other data under another token.
	Own   bool
	Token string
	// Complete: the backup is in its store.
	Complete bool
	// Problem says what a human must fix; empty if there is nothing. Progress says how far it is.
	Problem, Progress string
	Deleting          bool
}

// maxBackupName is how long the name of an EtcdBackup may be.
const maxBackupName = 52

// upgradeBackupName names the EtcdBackup that is made before a minor version.
func (s Spec) upgradeBackupName(next Version) string {
	suffix := fmt.Sprintf("-before-3-%d", next.Minor)
	if len(s.Name)+len(suffix) <= maxBackupName {
		return s.Name + suffix
	}
	sum := sha256.Sum256([]byte(s.Name))
	suffix = "-" + hex.EncodeToString(sum[:4]) + suffix
	return s.Name[:maxBackupName-len(suffix)] + suffix
}

// LeavesMinor reports whether pods are made with a later minor version than before. Where a member runs that one already, another
// backup gives no way back.
func (s Situation) LeavesMinor(next Version) bool {
	now, _ := ParseVersion(s.Status.TargetVersion)
	started := s.Where(func(m Member) bool { return m.Record != nil && m.View.Version.Minor >= next.Minor })
	return next.Minor > now.Minor && len(started) == 0
}

// AwaitBackup has a backup made before the first member runs the next minor version, where the cluster is backed up by a schedule.
func (s Situation) AwaitBackup(next Version) (Step, bool) {
	scheduled := slices.IndexFunc(s.Backups, func(b Backup) bool { return b.Scheduled })
	if scheduled < 0 || !s.LeavesMinor(next) {
		return Step{}, false
	}
	name, like := s.upgradeBackupName(next), s.Backups[scheduled].Name
	i := slices.IndexFunc(s.Backups, func(b Backup) bool { return b.Name == name })
	if i < 0 {
		message := fmt.Sprintf("etcd cannot go back from %s", next)
		return Step{Do: CreateUpgradeBackup, Backup: name, Like: like, Message: message, RequeueAfter: ShortRequeue}, true
	}
	switch b := s.Backups[i]; {
	case !b.Own:
		return Step{Do: Block, Reason: commonv1.ReasonUpgradeBlocked, Message: fmt.Sprintf(
			"EtcdBackup %q has the name of the backup that is to be made before %s, and was not made for it: delete it, or suspend or "+
				"delete EtcdBackup %q to upgrade without a backup", name, next, like)}, true
	case b.Deleting:
		return Step{Do: Wait, RequeueAfter: time.Second, Message: fmt.Sprintf("waiting for the previous EtcdBackup %q to be deleted", name)}, true
	case b.Token != s.Status.Membership.Token:
		return s.deleteUpgradeBackup(b, "it was made before a restore replaced the data"), true
	case b.Complete:
		return Step{}, false
	case b.Problem != "":
		return Step{Do: Block, Reason: commonv1.ReasonUpgradeBlocked, Message: fmt.Sprintf(
			"EtcdBackup %q must be complete before %s, as etcd cannot go back: %s. Fix that and delete EtcdBackup %q, which is then recreated; "+
				"or suspend or delete EtcdBackup %q to upgrade without a backup", name, next, b.Problem, name, like)}, true
	default: // its end wakes the cluster
		message := fmt.Sprintf("waiting for EtcdBackup %q before %s: %s", name, next, b.Progress)
		return Step{Do: Wait, RequeueAfter: 10 * time.Second, Message: message}, true
	}
}

// deleteUpgradeBackups deletes the EtcdBackups that were made before upgrades once none is asked for any more: the next one is to have
// a backup of its own. What is in the store stays.
func (s Situation) deleteUpgradeBackups() (Step, bool) {
	for _, b := range s.Backups {
		if b.Own && !b.Deleting {
			return s.deleteUpgradeBackup(b, "no upgrade is under way"), true
		}
	}
	return Step{}, false
}

func (Situation) deleteUpgradeBackup(b Backup, why string) Step {
	return Step{Do: DeleteUpgradeBackup, Backup: b.Name, Message: why, RequeueAfter: ShortRequeue}
}
