package membership

import (
	"strings"
	"testing"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
)

// startFromBackup makes it a new cluster that starts with a backup, which has been fetched.
func (s *scene) startFromBackup() {
	s.Status.Membership, s.Status.TargetVersion, s.Members, s.Listed, s.ClusterID, s.FromBackup = nil, "", nil, false, 0, true
	s.Fetch = Fetch{UID: "fetch", Address: "10.0.0.9", MaxMinor: 6, Attempts: 1,
		Item: &databasev1alpha1.EtcdRestoredBackup{Item: "20260102T150405Z-89abcdef", SHA256: "sum", Revision: 7, ServerVersion: "3.6.11"}}
}

// fail makes the fetch one that has failed so often.
func (s *scene) failFetch(attempts int32, permanent bool) {
	s.startFromBackup()
	s.Fetch.Item, s.Fetch.Error, s.Fetch.Attempts, s.Fetch.Permanent = nil, "NoSuchBucket: no bucket", attempts, permanent
}

// restoring makes a-0 a member that is to start with the backup, and has not answered.
func (s *scene) restoring() {
	item := *backupOf(s)
	s.forget(2)
	s.forget(1)
	s.Members = s.Members[:1]
	s.silence(0)
	s.Members[0].Record.Ran, s.Members[0].Record.ID, s.Members[0].Listed = false, "", nil
	s.Status.Membership.ClusterID, s.Status.Membership.Restore, s.Listed, s.ClusterID = "",
		&databasev1alpha1.EtcdMembershipRestore{EtcdRestoredBackup: item}, false, 0
	s.Members[0].Pod.Permit = s.Permit(s.Members[0])
}

// backupOf puts the pod of a backup into the scene.
func backupOf(s *scene) *databasev1alpha1.EtcdRestoredBackup {
	other := newScene()
	other.startFromBackup()
	s.FromBackup, s.Fetch = true, other.Fetch
	return s.Fetch.Item
}

func TestPlanOfARestore(t *testing.T) {
	for _, c := range []row{
		{"E12: the backup is fetched first", func(s *scene) { s.startFromBackup(); s.Fetch = Fetch{} }, "CreateFetchPod ", ""},
		{"E12: not over what a former object has left", func(s *scene) { s.startFromBackup(); s.Claims = []Claim{{Name: "data-a-0", Data: "t"}} },
			"Block ", "data-a-0 have the data of a former EtcdCluster"},
		{"E12: not while pods run with data", func(s *scene) {
			s.Status.Membership, s.FromBackup = nil, true
		}, "Block ", "status.membership is gone"},
		{"E12: nor for a version that cannot be run", func(s *scene) { s.startFromBackup(); s.WantedError = "no etcd 3.9" }, "Block ",
			"version: no etcd 3.9"},
		{"E12: no cluster is formed before it is there", func(s *scene) { s.startFromBackup(); s.Fetch.Item = nil }, "Wait ",
			"waiting for the backup"},
		{"E12: then one member forms it", (*scene).startFromBackup, "Form ", "3.6.16"},
		{"E12: a store that fails once is asked again", func(s *scene) { s.failFetch(1, false) }, "Wait ", "NoSuchBucket: no bucket"},
		{"E12: a human is asked about one that continues to fail", func(s *scene) { s.failFetch(3, false) }, "Block ", "NoSuchBucket: no bucket"},
		{"E12: and at once of what only a human repairs", func(s *scene) { s.failFetch(1, true) }, "Block ", "NoSuchBucket: no bucket"},
		{"E12: a node whose disk is full may get room", func(s *scene) { s.failFetch(2, false); s.Fetch.NodeFull = true }, "Wait ",
			"cannot be fetched yet: NoSuchBucket: no bucket"},
		{"E12: a pod whose node's disk remains full is recreated", func(s *scene) { s.failFetch(3, false); s.Fetch.NodeFull = true },
			"DeleteFetchPod ", "it is recreated, as the backup cannot be fetched: NoSuchBucket: no bucket"},
		{"E12: a later version is refused by name", func(s *scene) { s.startFromBackup(); s.Fetch.Item.ServerVersion = "3.7.3" },
			"Block ", `is of etcd 3.7.3, which 3.6.16 cannot load: set spec.version of the EtcdCluster to "3.7"`},
		{"E12: an earlier one is taken", func(s *scene) { s.startFromBackup(); s.Fetch.Item.ServerVersion = "3.5.35" }, "Form ", ""},
		{"E12: one whose manifest has no version is refused", func(s *scene) { s.startFromBackup(); s.Fetch.Item.ServerVersion = "new" },
			"Block ", "its manifest has no etcd version"},
		{"E12: data that asks for a login is refused before anything is formed",
			func(s *scene) { s.startFromBackup(); s.Fetch.RequiresLogin = true },
			"Block ", "asks for a login, and spec.auth of the EtcdCluster is not set"},
		{"E12: with auth it is taken", func(s *scene) { s.startFromBackup(); s.Fetch.RequiresLogin, s.RequiresLogin = true, true }, "Form ", ""},
		{"E12: data that exceeds the quota by more than a tenth is refused before anything is formed", func(s *scene) {
			s.startFromBackup()
			s.Fetch.RawSize, s.Quota = 1101, 1000
		}, "Block ", "bootstrap.backup: the data of 20260102T150405Z-89abcdef has 1101 bytes, and the quota of the EtcdCluster is 1000 bytes"},
		{"E12: data that exceeds the quota by a tenth is restored", func(s *scene) {
			s.startFromBackup()
			s.Fetch.RawSize, s.Quota = 1100, 1000
		}, "Form ", ""},
		{"E12: a restore that has started is not refused because of the quota", func(s *scene) {
			s.restoring()
			s.Fetch.RawSize, s.Quota = 9000, 1000
		}, "Wait ", "waiting for a-0 to start with backup"},
		{"E12: a member that has started and asks for a login is not waited for", func(s *scene) {
			s.restoring()
			s.Members[0].View.LockedOut = true
		}, "Block ", "the data asks for a login, and spec.auth is not set"},
		{"E12: nor is it without the backup", func(s *scene) {
			s.restoring()
			s.Fetch, s.Members[0].View.LockedOut = Fetch{}, true
		}, "Block ", "the data asks for a login, and spec.auth is not set"},
		{"E12: a pod that was given another version is recreated", func(s *scene) { s.startFromBackup(); s.Fetch.MaxMinor = 5 },
			"DeleteFetchPod ", ""},
		{"E12: so is one that has ended", func(s *scene) { s.startFromBackup(); s.Fetch.Ended = true }, "DeleteFetchPod ", ""},
		{"E12: once it is gone", func(s *scene) { s.startFromBackup(); s.Fetch.Deleting = true }, "Wait ", "the former pod"},
		{"E12: the first member starts with it", (*scene).restoring, "Wait ", "waiting for a-0 to start with backup 20260102T150405Z-89abcdef"},
		{"E12: its pod is recreated if it is lost meanwhile", func(s *scene) { s.restoring(); s.Fetch = Fetch{} }, "CreateFetchPod ", ""},
		{"E12: with the recorded backup", func(s *scene) { s.restoring(); s.Fetch.Item.Item = "20270102T150405Z-89abcdef" }, "DeleteFetchPod ",
			""},
		{"E12: and with no other data", func(s *scene) { s.restoring(); s.Fetch.Item.SHA256 = "other" }, "Block ", "has changed in the store"},
		{"E12: what keeps the member from it is reported", func(s *scene) { s.restoring(); s.Members[0].Pod.Unusable = "no room" },
			"Block ", "a-0 cannot start with 20260102T150405Z-89abcdef: no room"},
		{"E12: another image may repair that", func(s *scene) {
			s.restoring()
			s.Members[0].Pod.Unusable, s.Members[0].Pod.Stopped = "no etcdutl", true
			s.outdate(0)
		}, "DeletePod a-0", "no server runs in it"},
		{"E12: if it loses its data before, it starts with the backup again", func(s *scene) { s.restoring(); s.loseData(0) }, "Form ", "3.6.16"},
		{"E12: after the pod has fetched it again", func(s *scene) { s.restoring(); s.loseData(0); s.Fetch = Fetch{} }, "CreateFetchPod ", ""},
		{"E12: a member that answers needs the backup no more", func(s *scene) {
			s.restoring()
			s.Fetch = Fetch{}
			s.Listed, s.ClusterID = true, 12
			s.Members[0].View = View{Answered: true, ID: 100, ClusterID: 12, Leader: 100}
			s.Members[0].Listed = &ListedMember{ID: 100, Name: "a-0"}
		}, "RecordIDs ", ""},
		{"E12: its pod goes once the member runs", func(s *scene) {
			s.Status.Membership.Restore = &databasev1alpha1.EtcdMembershipRestore{EtcdRestoredBackup: *backupOf(s)}
		}, "EndRestore ", ""},
		{"E12: also one that is left", func(s *scene) { backupOf(s) }, "EndRestore ", ""},
		{"E12: once", func(s *scene) { backupOf(s); s.Fetch.Deleting = true }, "Idle ", ""},
		{"E12: further members join", func(s *scene) {
			s.FromBackup = true
			s.forget(2)
			s.forget(1)
			s.Members = s.Members[:1]
		}, "AddMember a-1", ""},
		{"E12: data that was lost after the member ran is not replaced without a human", func(s *scene) {
			s.FromBackup, s.Listed, s.ClusterID = true, false, 0
			for i := range s.Members {
				s.loseData(i)
			}
		}, "Block ", "To continue with the backup of spec.bootstrap, and lose confirmed writes"},
		{"E12: who allows it gets the backup again", func(s *scene) {
			s.FromBackup, s.Listed, s.ClusterID = true, false, 0
			for i := range s.Members {
				s.loseData(i)
			}
			s.allow()
		}, "CreateFetchPod ", ""},
	} {
		t.Run(c.name, c.test)
	}
}

func TestWhoStartsWithABackup(t *testing.T) {
	s := newScene()
	s.startFromBackup()
	if names := s.FormingMembers(); len(names) != 1 || names[0] != "a-0" {
		t.Errorf("%v start", names)
	}
	if got := s.Plan(); got.Restore == nil || got.Restore.Item != s.Fetch.Item.Item {
		t.Errorf("it forms with %v", got.Restore)
	}
}

func TestPermitOfARestore(t *testing.T) {
	const restore = `"restore":{"url":"https://10.0.0.9:8443","item":"20260102T150405Z-89abcdef","sha256":"sum"}`
	for _, c := range []struct {
		name    string
		arrange func(*scene)
		want    string
		not     string
	}{
		{"the permit has the address of the backup", func(*scene) {}, restore, ""},
		{"the permit has no address while the backup is not there", func(s *scene) { s.Fetch = Fetch{} }, `"restore":{"item":`, "url"},
		{"the permit has no address of another backup", func(s *scene) { s.Fetch.Item.Item = "other" }, `"restore":{"item":`, "url"},
		{"data into a cluster without auth stays open", func(*scene) {}, restore, "operatorUsers"},
		{"data into a cluster with auth asks for a login before it is served", func(s *scene) { s.RequiresLogin = true },
			`"operatorUsers":["root","backup","application-a","application-b"]`, ""},
		{"one that has run never starts again", func(s *scene) { s.Members[0].Record.Ran = true }, `"ran":true`, "restore"},
		{"one that joins gets its data from the others", func(s *scene) { s.Members[0].Record.Joined = true }, `"state":"existing"`, "restore"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene()
			s.restoring()
			c.arrange(s)
			if got := s.Permit(s.Members[0]); !strings.Contains(got, c.want) || c.not != "" && strings.Contains(got, c.not) {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestDataExceedsTheQuota(t *testing.T) {
	const largest = 1<<63 - 1
	for _, c := range []struct {
		name           string
		rawSize, quota int64
		want           bool
	}{
		{"a size that is not known is no reason", 0, 1000, false},
		{"a quota that is not known is no reason", 1000, 0, false},
		{"data that reaches the quota does not exceed it", 1000, 1000, false},
		{"a tenth more may be free pages", 1100, 1000, false},
		{"more than a tenth is too much", 1101, 1000, true},
		{"the largest size does not wrap", largest, 1000, true},
		{"the largest quota does not wrap", largest, largest, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := exceedsQuota(c.rawSize, c.quota); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
