package topology_test

import (
	"testing"
	"time"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// toStart is a set that is to start with a backup: its servers have just started, and nothing is recorded.
func toStart(c planRow) *Scene {
	s := Healthy(c.size)
	s.Status = cachev1alpha1.RedisStatus{}
	s.Spec.Bootstrap = &cachev1alpha1.RedisBootstrap{}
	for i := range s.Nodes {
		Fresh(&s.Nodes[i])
	}
	c.given(s)
	return s
}

// serve shows a pod that serves the backup.
func serve(s *Scene) {
	s.Source = &Source{Item: "item", Node: Node{Name: "a-restore", PodUID: "uid-restore", Address: "10.0.0.9",
		View: wire.View{Answer: wire.Reached, RunID: "run-restore", Master: true, ReplID: "history-restore", Pinned: true, Keys: 5}}}
	s.Status.Restore = &cachev1alpha1.RedisRestore{Phase: cachev1alpha1.RedisRestoreFetching}
}

// copying shows a-0 as the recorded loader, which follows that pod.
func copying(s *Scene) {
	serve(s)
	s.Nodes[0].MasterHost, s.Nodes[0].LoginSent = s.Source.Address, true
	p := s.Nodes[0].Process()
	s.Status.Restore = &cachev1alpha1.RedisRestore{Phase: cachev1alpha1.RedisRestoreLoading, Loader: &p, ReplID: s.Source.ReplID}
}

// loaded shows that it has all.
func loaded(s *Scene) {
	copying(s)
	s.Nodes[0].LinkUp, s.Nodes[0].Keys, s.Nodes[0].Pinned, s.Nodes[0].ReplID = true, 5, true, s.Source.ReplID
}

func and(all ...func(*Scene)) func(*Scene) {
	return func(s *Scene) {
		for _, item := range all {
			item(s)
		}
	}
}

func fence(s *Scene) { s.Nodes[0].MasterHost, s.Nodes[0].LinkUp = wire.FenceHost, false }

func restart(s *Scene) {
	keys := s.Nodes[0].Keys
	Fresh(&s.Nodes[0])
	s.Nodes[0].Keys = keys
}

func TestPlanOfARestore(t *testing.T) {
	testPlan(t, toStart, []planRow{
		{"the backup is fetched", 3, func(*Scene) {}, CreateRestorePod, nil},
		{"not before all have said that they have no data", 3, func(s *Scene) { MakeSilent(&s.Nodes[2]) }, Wait, nil},
		{"the first node loads it", 3, serve, LoadBackup, []string{"a-0"}},
		{"not while it is being fetched", 3, and(serve, func(s *Scene) { s.Source.View = wire.View{} }), Wait, nil},
		{"a backup is not loaded before the server that serves it has read it", 3, and(serve, func(s *Scene) { s.Source.Loading = true }), Wait,
			nil},
		{"a copy is waited for", 3, copying, Wait, nil},
		{"one whose login leads nowhere is sent it again", 3, and(copying, func(s *Scene) { s.Nodes[0].LoginSent = false }), LoadBackup,
			[]string{"a-0"}},
		{"who has all is fenced", 3, loaded, Fence, []string{"a-0"}},
		{"a fenced node that has all is promoted", 3, and(loaded, fence), Promote, []string{"a-0"}},
		{"not before it is on its disk", 3, and(loaded, func(s *Scene) { s.Nodes[0].AOF, s.Nodes[0].Rewriting = true, true }), Wait, nil},
		{"an empty backup is one, too", 3, and(loaded, fence, func(s *Scene) { s.Nodes[0].Keys = 0 }), Promote, []string{"a-0"}},
		{"also without the pod that served it", 3, and(loaded, fence, func(s *Scene) { s.Source = nil }), Promote, []string{"a-0"}},
		{"a loader that restarted and kept all", 3, and(loaded, restart), Promote, []string{"a-0"}},
		{"one that kept nothing loads again", 3, and(copying, restart), LoadBackup, []string{"a-0"}},
		{"it is fenced first if it follows a pod that was replaced", 3, and(copying, func(s *Scene) { s.Source.Address = "10.0.0.8" }), Fence,
			[]string{"a-0"}},
		{"a second one is fenced", 3, and(copying, func(s *Scene) { s.Nodes[1].MasterHost = s.Source.Address }), Fence, []string{"a-1"}},
		{"a silent loader is waited for", 3, and(copying, func(s *Scene) { MakeSilent(&s.Nodes[0]) }), Wait, nil},

		{"data is not overwritten", 3, func(s *Scene) { s.Nodes[2].Keys = 1 }, Block, nil},
		{"data of the first node is not overwritten", 3, and(serve, func(s *Scene) { s.Nodes[0].Keys = 1 }), Block, nil},
		{"a node that had a master and was emptied is not overwritten", 3, and(serve, func(s *Scene) { s.Nodes[0].Pinned = true }), Block, nil},
		{"what a stamped volume may hold is not overwritten", 3,
			func(s *Scene) { s.Volumes = map[string]Volume{"a-7": {Stamp: Stamp{Epoch: 1}}} }, Block, nil},
		{"what the loader has after it was master is not overwritten", 3, and(loaded, fence, func(s *Scene) { s.Nodes[0].ReplID = "later" }),
			Block, nil},
		{"data next to a loaded backup is not overwritten", 3, and(loaded, fence, func(s *Scene) { s.Nodes[1].Keys = 9 }), Block, nil},
		{"a master is taken for the right one", 3, func(s *Scene) { s.Nodes[1].Master, s.Nodes[1].MasterHost = true, "" }, RecordMaster,
			[]string{"a-1"}},

		{"a backup that cannot be used is reported", 3, and(serve, func(s *Scene) { s.Source.Failure = "no such bucket" }), Block, nil},
		{"a backup that cannot be used is tried again after a minute", 3,
			and(serve, func(s *Scene) { s.Source.Failure, s.Source.SinceFailure = "no such bucket", time.Minute }),
			DeleteRestorePod, []string{"a-restore"}},
		{"a backup that failed often is not tried again after a minute", 3, and(serve, func(s *Scene) {
			s.Source.Failure, s.Source.SinceFailure, s.Status.Restore.Failures = "no such bucket", time.Minute, 9
		}), Block, nil},
		{"a pod that is going is waited for", 3, and(serve, func(s *Scene) { s.Source.Deleting = true }), Wait, nil},

		{"a set that had a master forms without it", 3, func(s *Scene) { s.Status.Epoch = 1 }, Promote, []string{"a-0"}},
		{"as does one that was restored", 3, func(s *Scene) {
			s.Status.Epoch, s.Status.Restore = 1, &cachev1alpha1.RedisRestore{Phase: cachev1alpha1.RedisRestoreCompleted}
		}, Promote, []string{"a-0"}},
		{"a promotion that did not end continues with the backup", 3, and(copying, restart, func(s *Scene) { s.Status.Epoch = 1 }), LoadBackup,
			[]string{"a-0"}},
		{"without a backup it starts empty", 3, func(s *Scene) { s.Spec.Bootstrap = nil }, Promote, []string{"a-0"}},
	})
}

func TestReasonsOfARestore(t *testing.T) {
	unusable := toStart(planRow{size: 3, given: and(serve, func(s *Scene) { s.Source.Failure = "no such bucket" })}).Situation().Plan()
	exists := toStart(planRow{size: 3, given: func(s *Scene) { s.Nodes[2].Keys = 1 }}).Situation().Plan()
	if unusable.Reason != commonv1.ReasonBackupUnusable || exists.Reason != commonv1.ReasonDataExists || unusable.RequeueAfter == 0 ||
		exists.RequeueAfter == 0 {
		t.Errorf("%+v, %+v", unusable, exists)
	}
}

// The pod that served it is of no use once there is a master, or while nothing is to run.
func TestThePodThatServedABackupGoes(t *testing.T) {
	testPlan(t, healthy, []planRow{
		{"once there is a master", 3, func(s *Scene) { s.Source = &Source{Node: Node{Name: "a-restore"}} }, DeleteRestorePod,
			[]string{"a-restore"}},
		{"it is going", 3, func(s *Scene) { s.Source = &Source{Node: Node{Name: "a-restore", Deleting: true}} }, Idle, nil},
		{"asleep", 3, func(s *Scene) {
			s.Spec.Hibernate, s.Status.Replication, s.Source = true, nil, &Source{Node: Node{Name: "a-restore"}}
		}, DeleteRestorePod, []string{"a-restore"}},
	})
}
