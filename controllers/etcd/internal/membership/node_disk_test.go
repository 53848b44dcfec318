package membership

import (
	"strings"
	"testing"
)

// boundDisk lets the pods have that much on their nodes' disks, in MiB, in place of volumes.
func (s *scene) boundDisk(mib int64) {
	s.HasStorage = false
	for i := range s.Members {
		s.Members[i].Pod.DiskSize, s.Members[i].Pod.ClaimUID = mib<<20, ""
	}
}

// haveQuotaOf35 has all servers run with a quota that only the arguments of their pods name, in MiB.
func (s *scene) haveQuotaOf35(quota int64) {
	s.haveQuota(0)
	for i := range s.Members {
		s.Members[i].Pod.Quota = quota << 20
	}
}

func TestAQuotaWithoutRoomReplacesNoPod(t *testing.T) {
	const why = "quota: no room"
	for _, c := range []row{
		{"no cluster is formed with a quota for which pods have no room",
			func(s *scene) { s.Status.Membership, s.Members, s.QuotaError = nil, nil, why }, "Block ", why},
		{"no pod that runs is replaced by one without room for its quota", func(s *scene) { s.outdate(2); s.QuotaError = why },
			"Block ", why + "; until then no pod is replaced"},
		{"no pod is replaced by one whose quota is below the data",
			func(s *scene) { s.outdate(2); s.Quota = 256 << 20; s.haveQuota(2048); s.fill(400, 300, 1) }, "Block ",
			"quota: a-1 has 300 MiB of data, old revisions included, and the next pods would have a quota of 256 MiB"},
		{"no pod of etcd 3.5 is replaced by one whose quota is below the data",
			func(s *scene) { s.outdate(2); s.Quota = 256 << 20; s.haveQuotaOf35(2048); s.fill(400, 300, 1) }, "Block ",
			"quota: a-1 has 300 MiB of data, old revisions included, and the next pods would have a quota of 256 MiB"},
		{"a pod is replaced by one with a larger quota",
			func(s *scene) { s.outdate(2); s.Quota = 512 << 20; s.haveQuota(256); s.fill(300, 300, 1) }, "EvictPod a-2", ""},
		{"members are maintained meanwhile", func(s *scene) { s.QuotaError, s.DefragThreshold = why, 50; s.fill(100, 50, 1) },
			"Defragment a-1", ""},
		{"an alarm is taken back meanwhile", func(s *scene) { s.QuotaError = why; s.exceed(400, 400) }, "Disarm ", ""},
	} {
		t.Run(c.name, c.test)
	}
}

// A LimitRange gives a pod a limit that no field of the spec shows.
func TestAPodWithoutRoomForItsQuotaIsNamed(t *testing.T) {
	for _, c := range []struct {
		name string
		in   func(*scene)
		want string // part of the message; empty for none
	}{
		{"no limit", func(s *scene) { s.boundDisk(0) }, ""},
		{"enough room", func(s *scene) { s.boundDisk(2048 + 428) }, ""},
		{"too little room", func(s *scene) { s.boundDisk(2048 + 427) },
			"quota: a-0 has too little room: a pod may have 2603 MiB on its node's disk, " +
				"and a quota of 2048 MiB, etcd's logs and the rest need 2604 MiB"},
		{"a volume has its own rule", func(s *scene) { s.boundDisk(1024); s.HasStorage = true }, ""},
		{"a pod that is to be replaced", func(s *scene) { s.boundDisk(1024); s.outdate(0, 1, 2) }, ""},
		{"a server that runs with a former quota", func(s *scene) { s.boundDisk(1024); s.Quota = 256 << 20; s.haveQuota(2048) },
			"Restart the pods (kubectl rollout restart statefulset a): the next ones have a quota of 256 MiB"},
		{"a server of etcd 3.5 that runs with a former quota", func(s *scene) { s.boundDisk(1024); s.Quota = 256 << 20; s.haveQuotaOf35(2048) },
			"quota: a-0 runs with 2048 MiB"},
		{"a silent server that runs with the next quota", func(s *scene) {
			s.boundDisk(1024)
			s.Quota = 256 << 20
			s.haveQuotaOf35(256)
			s.silence(0)
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene()
			s.Quota = 2 << 30
			c.in(s)
			if got := s.WithoutRoom(); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q", got)
			}
		})
	}
}

// What a message asks for is enough.
func TestTheLimitThatIsAskedForHoldsTheQuota(t *testing.T) {
	for quota := int64(MinQuota); quota <= 8<<30; quota = quota*3/2 + 1 {
		if most := QuotaOnDisk(SpaceForData(PodLimitFor(quota))); most != quota {
			t.Errorf("%d bytes hold a quota of %d, not of %d", PodLimitFor(quota), most, quota)
		}
	}
}
