package membership

import (
	"net"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/launcher"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

const (
	// revisionBump is by how much revisions are raised at least when a backup takes the place of data: by more than anybody has written
	// since what was last seen (https://etcd.io/docs/v3.6/op-guide/recovery/#restoring-with-revision-bump).
	revisionBump = 1_000_000_000
	// maxRevision bounds what a server may say of its revision: sums with it do not overflow.
	maxRevision = 1 << 61
)

// Fetch is a pod that fetches a backup and serves it to the first member. The zero value means there is none.
type Fetch struct {
	UID      types.UID
	For      types.UID // the EtcdRestore that asks for it; empty for spec.bootstrap
	Address  string
	Deleting bool
	Ended    bool // it will never do anything any more
	MaxMinor int  // of backups that it takes, the latest minor version
	// Item is the backup that it has; nil until it has been fetched. RawSize is what it has decompressed, in bytes; 0 if not known.
	Item    *databasev1alpha1.EtcdRestoredBackup
	RawSize int64
	// Warning is what a human should know of Item; empty if it is nothing.
	Warning string
	// RequiresLogin: a member that starts with it serves only who has logged in.
	RequiresLogin bool
	// Error says why it could not be fetched, the last time.
	Error string
	// Permanent: a human must change something first.
	Permanent bool
	// NodeFull: the disk of the pod's node has no room for the backup.
	NodeFull bool
	// SizeWithoutRoom is the least size of the backup, in bytes, if there was no room for it; else 0.
	SizeWithoutRoom int64
	Attempts        int32 // that have failed
}

// Request is an EtcdRestore that may start.
type Request struct {
	UID    types.UID
	Backup commonv1.BackupReference
}

// AssignFetch notes a pod of a backup by what it is for: the backup that a cluster starts with, which has the given source, or the request
// that may start.
func (w *World) AssignFetch(f Fetch, current types.UID) {
	switch {
	case f.For == current:
		w.Fetch = f
	case w.Request != nil && f.For == w.Request.UID:
		w.Next = f
	case !f.Deleting:
		w.Strays = append(w.Strays, f)
	}
}

// serves reports whether the pod hands out that backup.
func (f Fetch) serves(item string) bool {
	return f.Item != nil && f.Item.Item == item && f.Address != "" && !f.Deleting && !f.Ended
}

// restored is the recorded backup that the first member starts with; nil if there is none.
func (s Situation) restored() *databasev1alpha1.EtcdMembershipRestore {
	if s.Status.Membership == nil {
		return nil
	}
	return s.Status.Membership.Restore
}

// Source is the EtcdRestore whose backup the first member starts with; empty for spec.bootstrap.
func (s Situation) Source() types.UID {
	if r := s.restored(); r != nil {
		return r.RestoreUID
	}
	return ""
}

// hasBackup reports whether a cluster that is formed starts with a backup.
func (s Situation) hasBackup() bool { return s.FromBackup || s.restored() != nil }

// isInRecord reports whether that is the source of the recorded backup.
func (s Situation) isInRecord(source types.UID) bool {
	return s.restored() != nil && s.Source() == source
}

// BackupToFetch is the name of the recorded backup; empty while none has been chosen yet.
func (s Situation) BackupToFetch(source types.UID) string {
	if s.isInRecord(source) {
		return s.restored().Item
	}
	return ""
}

// ReferenceOf is where that source has its backup, other than spec.bootstrap.
func (s Situation) ReferenceOf(source types.UID) *commonv1.BackupReference {
	switch {
	case s.isInRecord(source):
		return s.restored().From
	case s.Request != nil && s.Request.UID == source:
		return &s.Request.Backup
	}
	return nil
}

// LoadingVersion is the version of the member that starts with the backup: of a new cluster the one asked for, else the one that
// pods are made with.
func (s Situation) LoadingVersion(source types.UID) Version {
	if v, err := ParseVersion(s.Status.TargetVersion); err == nil && (source != "" || s.restored() != nil) {
		return v
	}
	return s.Wanted
}

// startsWithBackup reports whether a member is to start with the recorded backup. Once it has run it never does so again.
func (s Situation) startsWithBackup(one *databasev1alpha1.EtcdRecordedMember) bool {
	return s.restored() != nil && one != nil && !one.Joined && !one.Ran
}

// awaitsFirst reports whether the first member has not answered yet as the one that starts with the backup.
func (s Situation) awaitsFirst() bool {
	return len(s.Where(func(m Member) bool {
		return s.startsWithBackup(m.Record) && (!m.View.Answered || m.IsOfFormerMember())
	})) > 0
}

// former are the former members, while their pods may run, when a backup takes the place of their data.
func (s Situation) former() []Member {
	if s.Source() == "" || !s.awaitsFirst() {
		return nil
	}
	return s.Where(func(m Member) bool { return m.Pod.Permit != "" && m.IsOfFormerMember() })
}

// mayStart reports whether a member may be permitted to start with the backup: not while a former one may run as well.
func (s Situation) mayStart(m Member) bool {
	return !s.startsWithBackup(m.Record) || len(s.former()) == 0
}

// restoreOf is the backup that a member starts with, for its launcher; nil if it starts with none.
func (s Situation) restoreOf(one *databasev1alpha1.EtcdRecordedMember) *launcher.Restore {
	if !s.startsWithBackup(one) {
		return nil
	}
	r := &launcher.Restore{Item: s.restored().Item, SHA256: s.restored().SHA256}
	r.RevisionBump = uint64(max(0, s.restored().RevisionBump)) //nolint:gosec // it is not negative
	if s.RequiresLogin {
		r.OperatorUsers = OperatorUsers()
	}
	if s.Fetch.serves(r.Item) {
		r.URL = "https://" + net.JoinHostPort(s.Fetch.Address, strconv.Itoa(backup.ServePort))
	}
	return r
}

// toRestore is what is recorded when a cluster is formed: what is there already, else what was fetched.
func (s Situation) toRestore() *databasev1alpha1.EtcdMembershipRestore {
	switch {
	case s.restored() != nil:
		return s.restored().DeepCopy()
	case s.FromBackup:
		return &databasev1alpha1.EtcdMembershipRestore{EtcdRestoredBackup: *s.Fetch.Item}
	}
	return nil
}
