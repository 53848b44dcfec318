package membership

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
)

// request has an EtcdRestore ask for a backup, which has been fetched.
func (s *scene) request() {
	other := newScene()
	other.startFromBackup()
	s.Next, s.Request = other.Fetch, &Request{UID: "r"}
	s.Next.For = "r"
}

// replacing has the recorded restore, of an EtcdRestore, while the earlier members run.
func (s *scene) replacing() {
	const source = types.UID("r")
	s.request()
	s.Fetch, s.Next, s.Request = s.Next, Fetch{}, nil
	s.Fetch.For = source
	s.Status.Membership = &databasev1alpha1.EtcdMembership{Token: "next",
		Members: []databasev1alpha1.EtcdRecordedMember{{Name: "a-0", DataID: "restored"}},
		Restore: &databasev1alpha1.EtcdMembershipRestore{EtcdRestoredBackup: *s.Fetch.Item, RestoreUID: source, RevisionBump: revisionBump,
			KeptDataIDs: []string{"d0", "d1", "d2"}}}
	s.link()
}

// stopped has all earlier members gone, and the first one start.
func (s *scene) stopped() {
	s.replacing()
	s.Members = s.Members[:1]
	s.replacePod(0)
	s.Members[0].Listed, s.Listed, s.ClusterID = nil, false, 0
	s.Members[0].Record.StartedBy, s.Members[0].Record.ClaimUID = s.Members[0].Pod.UID, s.Members[0].Pod.ClaimUID
}

func TestPlanOfARestoreInPlace(t *testing.T) {
	for _, c := range []row{
		{"E12: the backup is fetched before anything is stopped", func(s *scene) { s.request(); s.Next = Fetch{} }, "CreateFetchPod ", ""},
		{"E12: everything else continues meanwhile", func(s *scene) { s.request(); s.Next.Item = nil; s.Size = 5 }, "AddMember a-3", ""},
		{"E12: also if it cannot be fetched", func(s *scene) {
			s.request()
			s.Next.Item, s.Next.Error, s.Next.Permanent = nil, "NoSuchBucket", true
		}, "Idle ", ""},
		{"E12: also if it is of a later version", func(s *scene) { s.request(); s.Next.Item.ServerVersion = "3.7.3" }, "Idle ", ""},
		{"E12: also if its data asks for a login, which the cluster does not", func(s *scene) { s.request(); s.Next.RequiresLogin = true },
			"Idle ", ""},
		{"E12: also if its data exceeds the quota", func(s *scene) { s.request(); s.Next.RawSize, s.Quota = 3<<30, 2<<30 }, "Idle ", ""},
		{"E12: nor may the volume be too small", func(s *scene) {
			s.request()
			s.Next.RawSize, s.Members[0].Pod.DiskSize = 500<<20, 1<<30
		}, "Idle ", ""},
		{"E12: one that is large enough will do", func(s *scene) {
			s.request()
			s.Next.RawSize, s.Members[0].Pod.DiskSize = 280<<20, 1<<30
		}, "StartRestore ", ""},
		{"E12: one that the logs of the present member fill is too small", func(s *scene) {
			s.request()
			s.Next.RawSize, s.Members[0].Pod.DiskSize = 300<<20, 1<<30
		}, "Idle ", ""},
		{"E12: the first member may have lost its data, which comes back", func(s *scene) {
			s.request()
			s.Next.RawSize, s.Members[0].Pod.DiskSize, s.Members[2].View.DBSize = 280<<20, 1<<30, 100<<20
		}, "Idle ", ""},
		{"E12: a first member that does not answer is waited for: no one knows what room it has", func(s *scene) {
			s.request()
			s.Next.RawSize, s.Members[0].Pod.DiskSize, s.Members[0].View = 1<<20, 1<<30, View{}
		}, "Wait ", "waiting for a-0"},
		{"E12: nor is one whose container ends again and again: the restore repairs it", func(s *scene) {
			s.request()
			s.Next.RawSize, s.Members[0].Pod.DiskSize, s.Members[0].View, s.Members[0].Pod.Stopped = 1<<20, 1<<30, View{}, true
		}, "StartRestore ", ""},
		{"E12: what servers of another cluster have takes room, too", func(s *scene) {
			s.request()
			s.Next.RawSize, s.Members[0].Pod.DiskSize, s.Other = 280<<20, 1<<30, View{Answered: true, DBSize: 100 << 20}
		}, "Idle ", ""},
		{"E12: a volume that is smaller than full logs has none", func(s *scene) {
			s.request()
			s.Next.RawSize, s.Members[0].Pod.DiskSize = 1<<20, 130<<20
		}, "StartRestore ", ""},
		{"E12: not without a majority", func(s *scene) {
			s.request()
			s.Next.RawSize, s.Members[0].Pod.DiskSize = 1<<20, 1<<30
			s.loseMajority()
		}, "StartRestore ", ""},
		{"E12: nor an etcdutl that cannot raise revisions", func(s *scene) {
			s.request()
			s.Status.TargetVersion, s.Wanted, s.Next.MaxMinor, s.Next.Item.ServerVersion = "3.5.34", Version{5, 34}, 5, "3.5.30"
			s.Status.TargetImage, s.Image = "etcd:v3.5.34", "etcd:v3.5.34"
			s.run(Version{5, 34}, "3.5", 0, 1, 2)
			s.pull("etcd:v3.5.34", 0, 1, 2)
		}, "Idle ", ""},
		{"E12: then it starts", (*scene).request, "StartRestore ", ""},
		{"E12: without a majority, too", func(s *scene) { s.request(); s.loseMajority() }, "StartRestore ", ""},
		{"E12: not while a cluster is forming", func(s *scene) {
			s.request()
			s.Status.Membership.ClusterID, s.Listed = "", false
		}, "Wait ", "form the cluster"},
		{"E12: the earlier members are stopped first, whatever they answer", func(s *scene) { s.replacing() }, "DeletePod a-0",
			"takes the place"},
		{"E12: all of them", func(s *scene) {
			s.replacing()
			s.Members[0].Pod.Deleting = true
		}, "DeletePod a-1", "takes the place"},
		{"E12: nothing starts before they have ended", func(s *scene) {
			s.replacing()
			for i := range s.Members {
				s.Members[i].Pod.Deleting = true
			}
		}, "Wait ", "waiting for a-0, a-1, a-2 to end"},
		{"E12: then the first starts with the backup", (*scene).stopped, "Wait ", "waiting for a-0 to start with backup"},
		{"E12: without data it is formed with the backup again, never empty", func(s *scene) {
			s.stopped()
			s.loseData(0)
		}, "Form ", ""},
		{"E12: a later EtcdRestore takes its place while nothing runs", func(s *scene) {
			fetched := newScene()
			fetched.request()
			s.stopped()
			s.Next, s.Request = fetched.Next, &Request{UID: "later"}
			s.Next.For = "later"
		}, "StartRestore ", ""},
		{"E12: not once the first member answers", func(s *scene) {
			fetched := newScene()
			fetched.request()
			s.stopped()
			s.Next, s.Request = fetched.Next, &Request{UID: "later"}
			s.Members[0].Pod.Permit = s.Permit(s.Members[0])
			s.Listed, s.ClusterID = true, 12
			s.Members[0].View = View{Answered: true, ID: 100, ClusterID: 12, Leader: 100}
			s.Members[0].Listed = &ListedMember{ID: 100, Name: "a-0"}
		}, "RecordIDs ", ""},
		{"E12: pods that no one needs go", func(s *scene) { s.Strays = []Fetch{{UID: "left"}} }, "EndRestore ", ""},
	} {
		t.Run(c.name, c.test)
	}
}

func TestPermitOfARestoreInPlace(t *testing.T) {
	s := newScene()
	s.stopped()
	if got := s.Permit(s.Members[0]); !strings.Contains(got, `"sha256":"sum","revisionBump":1000000000}`) {
		t.Errorf("revisions are not raised: %s", got)
	}
	s = newScene()
	s.replacing()
	s.Members[0].Record.StartedBy, s.Members[0].Record.ClaimUID = s.Members[0].Pod.UID, s.Members[0].Pod.ClaimUID
	if got := s.Permit(s.Members[0]); got != "" {
		t.Errorf("the first may start while the earlier ones run: %s", got)
	}
}

// No revision that a client may have seen comes again, however often a backup takes the place of the data.
func TestRevisionsNeverGoBack(t *testing.T) {
	last := func(revision, bump int64) *databasev1alpha1.EtcdLastRestore {
		return &databasev1alpha1.EtcdLastRestore{EtcdRestoredBackup: databasev1alpha1.EtcdRestoredBackup{Revision: revision}, RevisionBump: bump}
	}
	for _, c := range []struct {
		name     string
		arrange  func(*scene)
		revision int64
		beyond   int64
	}{
		{"no one answers", func(s *scene) { s.Members[0].View, s.Members[1].View, s.Members[2].View = View{}, View{}, View{} }, 900, 900},
		{"members are ahead of the backup", func(s *scene) { s.Members[1].View.Revision = 5_000_000_000 }, 900, 5_000_000_000},
		{"the status is older than what runs", func(s *scene) {
			s.Members[0].View, s.Members[1].View, s.Members[2].View = View{}, View{}, View{}
			s.Other = View{Answered: true, Revision: 5_000_000_000}
		}, 900, 5_000_000_000},
		{"an earlier backup after another one", func(s *scene) { s.Status.LastRestore = last(900, revisionBump) }, 800, revisionBump + 900},
		{"that one continues", func(s *scene) {
			s.Status.LastRestore, s.Members[0].View.Revision = last(900, revisionBump), revisionBump+5000
		}, 800, revisionBump + 5000},
		{"one started is replaced", func(s *scene) { s.stopped(); s.restored().Revision = 900 }, 800, revisionBump + 900},
		{"a server lies", func(s *scene) { s.Members[0].View.Revision = 1<<63 - 1 }, 900, maxRevision},
		{"a store lies", func(*scene) {}, -1 << 63, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene()
			c.arrange(s)
			if got := max(0, c.revision) + s.bumpOver(c.revision); got < c.beyond+revisionBump {
				t.Errorf("the data starts at revision %d, and %d was seen", got, c.beyond)
			}
		})
	}
}

func TestWhatAnEtcdRestoreWaitsFor(t *testing.T) {
	for _, c := range []struct {
		name    string
		arrange func(*scene)
		want    string
	}{
		{"its backup", func(s *scene) { s.request(); s.Next = Fetch{} }, "fetching the backup"},
		{"a store", func(s *scene) { s.request(); s.Next.Item, s.Next.Error, s.Next.Permanent = nil, "NoSuchBucket", true },
			"backup of the EtcdRestore: the backup cannot be fetched: NoSuchBucket"},
		{"a larger volume", func(s *scene) { s.request(); s.Next.RawSize, s.Members[0].Pod.DiskSize = 1<<30, 1<<30 },
			"raise spec.storage.size of the EtcdCluster"},
		{"a larger quota", func(s *scene) { s.request(); s.Next.RawSize, s.Quota = 3<<30, 2<<30 },
			"raise spec.quota of the EtcdCluster to 3221225472 bytes or more"},
		{"a cluster with auth", func(s *scene) { s.request(); s.Next.RequiresLogin = true }, "create an EtcdCluster with auth"},
		{"nothing", (*scene).request, "it is about to start"},
		{"the cluster", func(s *scene) { s.request(); s.Status.Membership.ClusterID = "" }, "waiting for the cluster to form"},
		{"another restore", func(s *scene) {
			s.request()
			s.Status.Membership.Restore = &databasev1alpha1.EtcdMembershipRestore{RestoreUID: "other"}
		}, "waiting for the restore under way to end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene()
			c.arrange(s)
			if got, ok := s.NextRestore(); !ok || !strings.Contains(got.Phrase(), c.want) {
				t.Errorf("got %+v", got)
			}
		})
	}
	if got, ok := newScene().NextRestore(); ok {
		t.Errorf("got %+v", got)
	}
}
