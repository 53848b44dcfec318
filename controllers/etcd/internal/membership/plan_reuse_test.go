package membership

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
)

// applied is an object that was deleted at revision 7 with three members, and applied again: its claims have the last stamp.
type applied struct {
	*scene
	before *scene // as it was deleted
}

func newApplied(edits ...func(*scene)) *applied {
	a := &applied{newScene(), newScene()}
	a.before.Status.Membership.Revision = 7
	for _, edit := range edits {
		edit(a.before)
	}
	a.Status, a.World = &databasev1alpha1.EtcdClusterStatus{}, World{}
	for i := range 3 {
		a.Claims = append(a.Claims, Claim{Name: "data-" + a.MemberName(int32(i)), Member: a.MemberName(int32(i)), UID: claimOf(i), Data: "t"})
		a.stamp(i)
	}
	return a
}

// stamp writes on a claim what the former object has recorded.
func (a *applied) stamp(i int) { a.Claims[i].Stamp = a.before.Stamp().For(a.Claims[i].UID) }

// stampAt writes an earlier or a later record on a claim.
func (a *applied) stampAt(revision int64, edit func(*databasev1alpha1.EtcdMembership), claims ...int) {
	stamp := a.before.Stamp()
	stamp.Membership = *stamp.Membership.DeepCopy()
	stamp.Membership.Revision = revision
	edit(&stamp.Membership)
	for _, i := range claims {
		a.Claims[i].Stamp = stamp.For(a.Claims[i].UID)
	}
}

func unchanged(*databasev1alpha1.EtcdMembership) {}

// only leaves these members in a record.
func only(members ...int) func(*databasev1alpha1.EtcdMembership) {
	return func(record *databasev1alpha1.EtcdMembership) {
		kept := record.Members[:0]
		for i, m := range record.Members {
			if slices.Contains(members, i) {
				kept = append(kept, m)
			}
		}
		record.Members = kept
	}
}

func TestVolumesAreReused(t *testing.T) {
	restoring := func(s *scene) { s.Status.Membership.Restore = &databasev1alpha1.EtcdMembershipRestore{} }
	recovering := func(s *scene) {
		s.Status.Membership.Change = &databasev1alpha1.EtcdMembershipChange{Type: databasev1alpha1.EtcdRecover, Name: "a-2", Recovery: "r"}
	}
	for _, c := range []struct {
		name   string
		before func(*scene)
		edit   func(*applied)
		want   Verb
		says   string
	}{
		{"all claims have the last stamp", nil, func(*applied) {}, ReuseVolumes, ""},
		{"the claims of a majority have the last stamp", nil, func(a *applied) { a.Claims = a.Claims[1:] }, ReuseVolumes, ""},
		{"the claim of one of three has the last stamp", nil, func(a *applied) { a.Claims = a.Claims[2:] }, Block, "own claims of a-0, a-1"},
		{"one of three claims is stamped", nil, func(a *applied) { a.Claims[0].Stamp, a.Claims[1].Stamp = "", "" }, Block,
			"own claims of a-0, a-1"},
		{"no claim has a stamp", nil, func(a *applied) {
			for i := range a.Claims {
				a.Claims[i].Stamp = ""
			}
		}, Block, "no claim has a stamp"},
		{"a stamp was copied with a claim", nil, func(a *applied) { a.Claims[0].UID, a.Claims[1].UID = "copy-0", "copy-1" }, Block,
			"own claims of a-0, a-1"},
		{"a stamp cannot be read", nil, func(a *applied) { a.Claims[0].Stamp = "{" }, ReuseVolumes, ""},
		{"the stamps of a majority cannot be read", nil, func(a *applied) { a.Claims[0].Stamp, a.Claims[1].Stamp = "{", "null" }, Block,
			"own claims of a-0, a-1"},
		{"a claim is another than the record names", nil, func(a *applied) {
			a.Claims[0].UID, a.Claims[1].UID = "new-0", "new-1"
			a.stamp(0)
			a.stamp(1)
		}, Block, "own claims of a-0, a-1"},
		{"a claim has the latest revision, and is no majority", nil, func(a *applied) { a.stampAt(8, unchanged, 2) }, Block, "revision 8"},
		{"one claim was not stamped with the latest revision", nil, func(a *applied) { a.stampAt(6, unchanged, 2) }, ReuseVolumes, ""},
		{"two records have the same revision", nil, func(a *applied) { a.stampAt(7, only(0, 1), 2) }, Block, "contradict each other"},
		{"two earlier records have the same revision", nil, func(a *applied) {
			a.stampAt(6, only(0), 0)
			a.stampAt(6, only(1), 1)
			a.stampAt(9, only(2), 2)
		}, ReuseVolumes, ""},
		{"the claim of a removed member has an earlier record, in which it is one of three", nil, func(a *applied) {
			a.stampAt(9, only(0, 1), 0, 1)
		}, ReuseVolumes, ""},
		{"three became one, and its claim is lost", nil, func(a *applied) {
			a.stampAt(9, only(0), 0, 1, 2)
			a.Claims = a.Claims[1:]
		}, Block, "own claims of a-0"},
		{"three became one and three again, and the first claim is lost", nil, func(a *applied) {
			a.stampAt(20, unchanged, 0, 1, 2)
			a.Claims = a.Claims[1:]
		}, ReuseVolumes, ""},
		{"a member is being removed, and the claim of another is lost", nil, func(a *applied) {
			a.stampAt(8, func(record *databasev1alpha1.EtcdMembership) {
				record.Change = &databasev1alpha1.EtcdMembershipChange{Type: databasev1alpha1.EtcdRemove, Name: "a-2", ID: "66"}
			}, 0, 1, 2)
			a.Claims = a.Claims[1:]
		}, Block, "own claims of a-0"},
		{"a learner counts for no majority", nil, func(a *applied) {
			a.stampAt(8, func(record *databasev1alpha1.EtcdMembership) {
				record.Members[2].Joined, record.Members[2].Ran = true, false
			}, 0, 1, 2)
			a.Claims = a.Claims[1:]
		}, Block, "own claims of a-0"},
		{"the cluster had not formed", func(s *scene) { s.Status.Membership.ClusterID = "" }, func(*applied) {}, Block, "being formed"},
		{"a restore was under way", restoring, func(*applied) {}, Block, "being formed, restored"},
		{"a recovery was under way", recovering, func(*applied) {}, Block, "being formed, restored"},
		{"a forged stamp has a member make itself a cluster of one", nil, func(a *applied) {
			a.stampAt(8, func(record *databasev1alpha1.EtcdMembership) {
				record.Change = &databasev1alpha1.EtcdMembershipChange{Type: databasev1alpha1.EtcdRecover, Name: "a-2", Recovery: "r"}
			}, 0, 1, 2)
		}, Block, "being formed, restored"},
		{"a forged revision is beyond all others", nil, func(a *applied) { a.stampAt(math.MaxInt64-1, only(2), 2) }, ReuseVolumes, ""},
		{"a claim has the data of another cluster", nil, func(a *applied) { a.Claims[0].Data, a.Claims[0].Stamp = "other", "" }, Block,
			"data of several clusters: that of data-a-0"},
		{"a claim is stamped for another cluster", nil, func(a *applied) {
			a.stampAt(3, func(record *databasev1alpha1.EtcdMembership) { record.Token = "other" }, 0)
		}, Block, "data of several clusters: that of data-a-0"},
		{"a claim was given to another cluster after the stamp", nil, func(a *applied) { a.Claims[0].Data, a.Claims[1].Data = "other", "other" },
			Block, "own claims of a-0, a-1"},
		{"a stamp names members of another object", nil, func(a *applied) {
			a.stampAt(8, func(record *databasev1alpha1.EtcdMembership) { record.Members[1].Name = "b-1" }, 0, 1, 2)
		}, Block, `member "b-1"`},
		{"a stamp names a directory that is no name", nil, func(a *applied) {
			a.stampAt(8, func(record *databasev1alpha1.EtcdMembership) { record.Members[1].DataID = "../x" }, 0, 1, 2)
		}, Block, "no claim has a stamp"},
		{"a stamp names no version", func(s *scene) { s.Status.TargetVersion = "" }, func(*applied) {}, Block, "which version ran"},
		{"the operator has no image of the version", func(s *scene) { s.Status.TargetVersion = "3.9.0" }, func(*applied) {}, Block,
			"no image of etcd 3.9.0"},
		{"a claim is being deleted", nil, func(a *applied) { a.Claims[2].Goes = true }, Wait, "data-a-2 of a former EtcdCluster"},
		{"pods of the deleted object run", nil, func(a *applied) { a.FormerPods = []string{"a-1"} }, Wait, "the pods a-1 of a former"},
		{"the new object has no storage", nil, func(a *applied) { a.HasStorage = false }, Block, "spec.storage"},
		{"the members require a login, and the new object has none", func(s *scene) {
			s.Status.Login = &databasev1alpha1.EtcdLogin{Required: true}
		}, func(*applied) {}, Block, "spec.auth is not set"},
		{"the members require a login, and so does the new object", func(s *scene) {
			s.Status.Login = &databasev1alpha1.EtcdLogin{Required: true}
		}, func(a *applied) { a.RequiresLogin = true }, ReuseVolumes, ""},
		{"the new object asks for an earlier minor version than the members were to run", func(s *scene) { s.Status.TargetVersion = "3.7.3" },
			func(a *applied) { a.Wanted = Version{6, 16} }, Block, `set version to "3.7"`},
		{"the new object starts with a backup", nil, func(a *applied) { a.FromBackup = true }, Block, "spec.bootstrap asks for a backup"},
		{"an EtcdRestore is to start", nil, func(a *applied) { a.Request = &Request{UID: "r"} }, Block, "an EtcdRestore asks"},
		{"the spec asks for a version that cannot be run", nil, func(a *applied) { a.WantedError = "no etcd 3.9" }, Block, "no etcd 3.9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var edits []func(*scene)
			if c.before != nil {
				edits = append(edits, c.before)
			}
			a := newApplied(edits...)
			c.edit(a)
			if got := a.Plan(); got.Do != c.want || !strings.Contains(got.Message, c.says) {
				t.Errorf("got %s: %s", got, got.Message)
			}
		})
	}
}

// newForged is an object whose former one had a member that was yet to start, a learner, and more than a stamp may have.
func newForged() *applied {
	return newApplied(func(s *scene) {
		record := s.Status.Membership
		record.FormerDataIDs, record.KeptDataIDs, record.NamesAllData = []string{"gone"}, []string{"kept"}, true
		record.Members[1].StartedBy, record.Members[1].Ran = "", false
		record.Members[2].Joined, record.Members[2].Ran = true, false
		s.Status.TargetImage = "forged"
		s.Status.BegunRestoreUIDs = []types.UID{"r"}
		s.Status.Login = &databasev1alpha1.EtcdLogin{Required: true, User: "application-b"}
		s.Status.LastRecovery = &databasev1alpha1.EtcdRecovery{Member: "a-0"}
		s.Status.LastRestore = &databasev1alpha1.EtcdLastRestore{RestoreUID: "last"}
	})
}

// forge adds to a stamp what no operator writes there.
func forge(stamp Stamp) Stamp {
	stamp.Membership.FormerDataIDs, stamp.Membership.NamesAllData = []string{"d0"}, true
	stamp.Membership.Restore = &databasev1alpha1.EtcdMembershipRestore{}
	return stamp
}

// A stamp has nothing by which data is deleted, or an image is chosen, and whatever it says of that is not reused.
func TestWhatIsReused(t *testing.T) {
	a := newForged()
	stamp, why := a.FormerRecord()
	if text := stamp.For("c"); why != "" || strings.Contains(text, "gone") || strings.Contains(text, "forged") {
		t.Fatalf("%s: %s", why, text)
	}
	status := a.StatusFrom(forge(stamp))
	if record := status.Membership; len(record.FormerDataIDs) > 0 || record.Restore != nil || record.NamesAllData ||
		status.TargetImage != "etcd:v3.6.16" {
		t.Errorf("got %+v, %+v", status, record)
	}
	if !slices.Equal(status.Membership.KeptDataIDs, []string{"kept"}) || status.TargetVersion != "3.6.16" ||
		!slices.Equal(status.BegunRestoreUIDs, []types.UID{"r"}) || !reflect.DeepEqual(status.Login, stamp.Login) ||
		!reflect.DeepEqual(status.LastRecovery, stamp.LastRecovery) || !reflect.DeepEqual(status.LastRestore, stamp.LastRestore) {
		t.Errorf("got %+v", status)
	}
}

// No member starts on reused volumes without the data that it had, not even one that was yet to start.
func TestNoMemberStartsOnReusedVolumesWithoutItsData(t *testing.T) {
	a := newForged()
	stamp, _ := a.FormerRecord()
	status := a.StatusFrom(forge(stamp))
	a.Status = &status
	for i := range status.Membership.Members {
		m := &status.Membership.Members[i]
		if m.StartedBy == "" || m.Ran == m.Joined {
			t.Errorf("got %+v", m)
		}
		pod := Member{Name: m.Name, Record: m, Pod: Pod{UID: types.UID("new-" + m.Name), ClaimUID: claimOf(i)}}
		if permit, ok := ParsePermit(a.Permit(pod)); !ok || permit.Fresh || permit.Restore != nil || len(permit.Drop) > 0 {
			t.Errorf("%s is permitted to start with %+v", m.Name, permit)
		}
	}
}

// The image in the spec is for one version: members of another minor version continue with the operator's image.
func TestTheImageForReusedVolumes(t *testing.T) {
	for _, c := range []struct {
		wanted Version
		image  string
		want   string
	}{
		{Version{6, 16}, "", "etcd:v3.6.16"},
		{Version{6, 12}, "own", "own"},
		{Version{7, 3}, "own", "etcd:v3.6.16"},
	} {
		a := newApplied()
		a.Wanted, a.Image = c.wanted, c.image
		stamp, _ := a.FormerRecord()
		if got := a.StatusFrom(stamp).TargetImage; got != c.want {
			t.Errorf("%s with image %q: got %q", c.wanted, c.image, got)
		}
	}
}

func TestStampsThatAreDue(t *testing.T) {
	for _, c := range []struct {
		name       string
		edit       func(*applied)
		due, taken bool
	}{
		{"all claims have the record", func(*applied) {}, false, false},
		{"one claim has no stamp", func(a *applied) { a.Claims[1].Stamp = "" }, true, false},
		{"one claim has an earlier stamp", func(a *applied) { a.stampAt(6, unchanged, 1) }, true, false},
		{"one claim has no stamp and is being deleted", func(a *applied) { a.Claims[1].Stamp, a.Claims[1].Goes = "", true }, false, false},
		{"one claim has a later stamp", func(a *applied) { a.stampAt(8, unchanged, 1) }, true, true},
		{"one claim has another record of this revision", func(a *applied) { a.stampAt(7, only(0), 1) }, true, true},
		{"one claim has a revision that no save could exceed", func(a *applied) { a.stampAt(math.MaxInt64, unchanged, 1) }, true, false},
		{"one claim has the copy of a later stamp", func(a *applied) { a.stampAt(8, unchanged, 1); a.Claims[1].UID = "copy" }, true, false},
		{"the record is that of an earlier release", func(a *applied) {
			a.before.Status.Membership.Revision = 0
			for i := range a.Claims {
				a.Claims[i].Stamp = ""
			}
		}, true, true},
		{"the cluster has not formed, and there is nothing to continue from", func(a *applied) {
			a.before.Status.Membership.ClusterID = ""
			for i := range a.Claims {
				a.Claims[i].Stamp = ""
			}
		}, false, false},
		{"the cluster is formed again in the place of another", func(a *applied) {
			a.before.Status.Membership.ClusterID, a.before.Status.Membership.Revision = "", 8
		}, true, false},
		{"there is no storage", func(a *applied) { a.before.HasStorage = false; a.Claims[1].Stamp = "" }, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newApplied()
			c.edit(a)
			a.before.Claims = a.Claims
			if due := a.before.AreStampsDue(); due != c.due || due && a.before.IsRevisionTaken() != c.taken {
				t.Errorf("due: %t, and the revision is taken: %t", due, a.before.IsRevisionTaken())
			}
		})
	}
}

// Pods without an owner, as while volumes grow, do not end by themselves. To delete the claims would be too much.
func TestPodsThatRunOnWithoutARecord(t *testing.T) {
	a := newApplied()
	a.Members = []Member{{Name: "a-0", Pod: Pod{UID: "p", Permit: "{}"}}}
	if got := a.Plan(); got.Do != Block || !strings.Contains(got.Message, "delete these pods, and the object continues with their volumes") {
		t.Errorf("got %s: %s", got, got.Message)
	}
	a.HasStorage = false
	if got := a.Plan(); got.Do != Block || strings.Contains(got.Message, "delete these pods") {
		t.Errorf("got %s: %s", got, got.Message)
	}
}
