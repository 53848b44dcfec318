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

// keepBusy makes a server one that a script has kept busy for so long. Its replicas hear nothing of it.
func keepBusy(m *Node, s *Scene, since time.Duration) {
	MakeErroring(m, wire.Busy)
	m.ErroringFor = since
	for i := range s.Nodes {
		s.Nodes[i].LastIO, s.Nodes[i].LinkUp = since, since < 15*time.Second // repl-timeout
	}
}

// ask for a switchover.
func ask(s *Scene, pod string) {
	s.Annotations = map[string]string{cachev1alpha1.RedisSwitchover: pod}
}

// A server that answers with an error lives. Nothing is promoted, and no pod deleted, unless a human asks for it.
func TestBusy(t *testing.T) {
	rows := []planRow{
		{"a master that is busy with a script stays", 3, func(s *Scene) { keepBusy(&s.Nodes[0], s, 10*time.Second) }, Wait, nil},
		{"a master that is busy for an hour stays, though no replica hears it", 3, func(s *Scene) { keepBusy(&s.Nodes[0], s, time.Hour) }, Wait,
			nil},
		{"a busy master stays also when its container is said to have ended", 3,
			func(s *Scene) { keepBusy(&s.Nodes[0], s, time.Hour); s.Nodes[0].Stopped = true }, Wait, nil},
		{"a busy master stays when its replicas are fenced", 3, func(s *Scene) {
			keepBusy(&s.Nodes[0], s, time.Hour)
			FenceReplicas(s, 90, 95)
			s.FencedFor = time.Hour
		}, Wait, nil},
		{"a busy master whose pod is being deleted has until its pod ends", 3, func(s *Scene) {
			keepBusy(&s.Nodes[0], s, time.Minute)
			s.Nodes[0].Deleting, s.Nodes[0].DeletingFor = true, time.Minute
		}, Wait, nil},
		{"once the pod of a busy master is gone, what answers there proves nothing", 3, func(s *Scene) {
			keepBusy(&s.Nodes[0], s, time.Minute)
			Orphan(s)
		}, Fence, []string{"a-1", "a-2"}},
		{"a busy replica is not replaced", 3, func(s *Scene) {
			keepBusy(&s.Nodes[2], s, time.Hour)
			s.Nodes[1].LinkUp, s.Nodes[1].LastIO = true, 0
			Detach(s, 2)
		}, Wait, nil},
		{"a former master that is busy keeps its pod", 3, func(s *Scene) {
			keepBusy(&s.Nodes[2], s, time.Hour)
			s.Nodes[1].LinkUp, s.Nodes[1].LastIO = true, 0
			s.Status.Replication.SyncSet = s.Status.Replication.SyncSet[:1]
			s.Status.LastFailover = &cachev1alpha1.RedisFailover{From: "a-2", FromPodUID: s.Nodes[2].PodUID, To: "a-0"}
			Detach(s, 2)
		}, Wait, nil},
		{"a busy replica may hold what the others lack", 3,
			func(s *Scene) { Refused(&s.Nodes[0]); FenceReplicas(s, 90, 95); MakeErroring(&s.Nodes[2], wire.Busy) }, Block, nil},
		{"a busy replica may hold the latest data when all others have restarted", 3,
			func(s *Scene) { RestartAll(s); s.Nodes[0].Keys = 1; MakeErroring(&s.Nodes[2], wire.Busy) }, Block, nil},
		{"without a record a busy server may be the master", 3, func(s *Scene) {
			s.Status.Replication = nil
			RestartAll(s)
			MakeErroring(&s.Nodes[1], wire.Busy)
		}, Wait, nil},

		{"a human who asks for another master waits for the script", 3,
			func(s *Scene) { keepBusy(&s.Nodes[0], s, ErroringSwitchoverWait-1); ask(s, "a-1") }, Wait, nil},
		{"a human who asks for another master waits for the script no longer than the limit", 3,
			func(s *Scene) { keepBusy(&s.Nodes[0], s, ErroringSwitchoverWait); ask(s, "a-1") }, Fence,
			[]string{"a-1", "a-2"}},
		{"a busy master that is replaced is waited for once the others are fenced", 3, func(s *Scene) {
			keepBusy(&s.Nodes[0], s, ErroringSwitchoverWait)
			ask(s, "a-1")
			FenceReplicas(s, 95, 95)
			s.FencedFor = 4*time.Second - 1
		}, Wait, nil},
		{"the node that a human asked for is promoted after the wait", 3, func(s *Scene) {
			keepBusy(&s.Nodes[0], s, ErroringSwitchoverWait)
			ask(s, "a-2")
			FenceReplicas(s, 95, 95)
			s.FencedFor = 4 * time.Second
		}, Promote, []string{"a-2"}},
		{"not while too few replicas are there to be sure", 3, func(s *Scene) {
			keepBusy(&s.Nodes[0], s, time.Hour)
			ask(s, "a-1")
			MakeSilent(&s.Nodes[2])
		}, Wait, nil},
		{"a busy master is not replaced by a node that does not exist", 3, func(s *Scene) { keepBusy(&s.Nodes[0], s, time.Hour); ask(s, "b-7") },
			Wait, nil},
		{"a busy master is not replaced by itself", 3, func(s *Scene) { keepBusy(&s.Nodes[0], s, time.Hour); ask(s, "a-0") }, Wait, nil},
	}
	for _, code := range []string{"LOADING", "MASTERDOWN", "MISCONF", "NOPERM", "OOM"} {
		rows = append(rows, planRow{"a master that answers " + code + " stays", 3, func(s *Scene) {
			hang(&s.Nodes[0], s, time.Hour)
			MakeErroring(&s.Nodes[0], code)
		}, Wait, nil}, planRow{"a human who asks for another master waits for one that answers " + code, 3, func(s *Scene) {
			keepBusy(&s.Nodes[0], s, ErroringSwitchoverWait-1)
			MakeErroring(&s.Nodes[0], code)
			ask(s, "a-1")
		}, Wait, nil}, planRow{"a human waits no longer than the limit for a master that answers " + code, 3, func(s *Scene) {
			keepBusy(&s.Nodes[0], s, ErroringSwitchoverWait)
			MakeErroring(&s.Nodes[0], code)
			ask(s, "a-1")
		}, Fence, []string{"a-1", "a-2"}}, planRow{"once the pod is gone, a server that answers " + code + " there proves nothing", 3,
			func(s *Scene) {
				keepBusy(&s.Nodes[0], s, time.Minute)
				MakeErroring(&s.Nodes[0], code)
				Orphan(s)
			}, Fence, []string{"a-1", "a-2"}})
	}
	testPlan(t, healthy, rows)
}

func TestASwitchoverFromABusyMasterIsRecordedAsAsked(t *testing.T) {
	s := Healthy(3)
	keepBusy(&s.Nodes[0], s, ErroringSwitchoverWait)
	ask(s, "a-2")
	FenceReplicas(s, 95, 95)
	s.FencedFor = 4 * time.Second
	if got := s.Situation().Plan(); got.Do != Promote || got.Reason != commonv1.ReasonSwitchoverRequested {
		t.Errorf("got %s, reason %s", got, got.Reason)
	}
}
