package membership

import "testing"

// raise has a member raise an alarm.
func (s *scene) raise(i int, alarm string) {
	s.Members[i].View.Alarms = append(s.Members[i].View.Alarms, alarm)
	s.Alarms = append(s.Alarms, Alarm{s.Members[i].Listed.ID, alarm})
}

// fill sets the size of the databases and the part of them that is in use, in MiB.
func (s *scene) fill(size, used int64, ordinals ...int) {
	for _, i := range ordinals {
		s.Members[i].View.DBSize, s.Members[i].View.DBUsed = size<<20, used<<20
	}
}

// exceed is a cluster whose quota of 1000 MiB is exceeded, and whose old revisions are gone.
func (s *scene) exceed(size, used int64) {
	s.Quota, s.Status.CompactedRevision = 1000<<20, 7
	for i := range s.Members {
		s.Members[i].View.Revision = 7
	}
	s.fill(size, used, 0, 1, 2)
	s.raise(1, AlarmNoSpace)
}

// haveVolume sets the size of the volume of the second member, in MiB.
func (s *scene) haveVolume(size int64) { s.Members[1].Pod.DiskSize = size << 20 }

// haveQuota has all servers run with a quota, in MiB.
func (s *scene) haveQuota(quota int64) {
	for i := range s.Members {
		s.Members[i].View.Quota = quota << 20
	}
}

func TestAlarms(t *testing.T) {
	for _, c := range []row{
		{"the alarm of a member that is gone is taken back", func(s *scene) { s.Alarms = []Alarm{{999, AlarmNoSpace}} },
			"Disarm ", "its member is gone"},
		{"E9: old revisions go first", func(s *scene) { s.exceed(1000, 900); s.Status.CompactedRevision = 0 },
			"Compact a-0", "quota is exceeded"},
		{"E9: once for an alarm: newer revisions wait until the free pages are gone",
			func(s *scene) { s.exceed(1000, 400); s.Status.CompactedRevision = 6 }, "Defragment a-1", ""},
		{"E9: what was deleted since is compacted, too, before a human is asked",
			func(s *scene) { s.exceed(1000, 980); s.Status.CompactedRevision = 6 }, "Compact a-0", "deleted since"},
		{"E9: not with each pass", func(s *scene) { s.exceed(1000, 980); s.Status.CompactedRevision, s.CompactedLately = 6, true },
			"Block ", "980 MiB"},
		{"E9: a small quota needs room for a request", func(s *scene) { s.exceed(15, 15); s.Quota = 16 << 20 }, "Block ", "15 MiB"},
		{"E9: a database far below the quota is not defragmented for it", func(s *scene) { s.exceed(400, 300) }, "Disarm ", ""},
		{"E9: also few free pages, if the quota is met without them", func(s *scene) { s.exceed(980, 930) }, "Defragment a-1", ""},
		{"E9: then the free pages", func(s *scene) { s.exceed(1000, 400) }, "Defragment a-1", ""},
		{"E10: one member at a time, the leader last", func(s *scene) { s.exceed(400, 400); s.fill(1000, 400, 0, 2) }, "Defragment a-2", ""},
		{"E10: the leader after it has handed the lead on", func(s *scene) { s.exceed(400, 400); s.fill(1000, 400, 0) }, "MoveLeader a-0", "a-1"},
		{"E9: then the alarm", func(s *scene) { s.exceed(400, 400) }, "Disarm ", "below the quota again"},
		{"E9: too much data", func(s *scene) { s.exceed(1000, 980) }, "Block ",
			"a-0 holds 980 MiB of data, old revisions included, which is 98% of the quota of 1000 MiB"},
		{"E9: a larger quota counts when the servers have it",
			func(s *scene) { s.exceed(1000, 980); s.Quota = 2000 << 20; s.outdate(0, 1, 2); s.haveQuota(1000) },
			"EvictPod a-2", ""},
		{"E9: a larger quota counts when the servers have it, also if they do not report it",
			func(s *scene) { s.exceed(1000, 980); s.Quota = 2000 << 20; s.outdate(2); s.haveQuotaOf35(1000) }, "EvictPod a-2", ""},
		{"E9: a smaller quota that is asked for does not hold the alarm",
			func(s *scene) { s.exceed(400, 400); s.Quota = 300 << 20; s.haveQuota(1000) }, "Disarm ",
			"below the quota again"},
		{"E9: a smaller quota that is asked for does not hold the alarm of servers that do not report theirs",
			func(s *scene) { s.exceed(400, 400); s.Quota = 300 << 20; s.outdate(2); s.haveQuotaOf35(1000) }, "Disarm ",
			"below the quota again"},
		{"E9: and ends the alarm then", func(s *scene) { s.exceed(1000, 980); s.Quota = 2000 << 20; s.haveQuota(2000) },
			"Disarm ", "below the quota again"},
		{"E9: a new quota comes with new pods", func(s *scene) { s.exceed(1000, 980); s.outdate(2) }, "EvictPod a-2", ""},
		{"E10: nothing is defragmented unless it is asked for", func(s *scene) { s.fill(100, 10, 0, 1, 2) }, "Idle ", ""},
		{"E10: from the threshold on", func(s *scene) { s.DefragThreshold = 50; s.fill(100, 50, 1) }, "Defragment a-1", ""},
		{"E10: not below the threshold", func(s *scene) { s.DefragThreshold = 50; s.fill(100, 51, 0, 1, 2) }, "Idle ", ""},
		{"E10: not for a small database", func(s *scene) { s.DefragThreshold = 50; s.fill(15, 1, 0, 1, 2) }, "Idle ", ""},
		{"E10: not while anything else is under way", func(s *scene) { s.DefragThreshold = 50; s.fill(100, 10, 1); s.outdate(2) },
			"EvictPod a-2", ""},
		{"E10: not twice within an hour", func(s *scene) { s.DefragThreshold = 50; s.fill(100, 10, 1); s.Members[1].DefragmentedLately = true },
			"Idle ", ""},
		{"E10: with room for the next file on the volume", func(s *scene) { s.DefragThreshold = 50; s.fill(100, 50, 1); s.haveVolume(578) },
			"Defragment a-1", ""},
		{"E10: not without room for the next file on the volume",
			func(s *scene) { s.DefragThreshold = 50; s.fill(100, 50, 1); s.haveVolume(577) }, "Idle ", ""},
		{"E10: on a small volume with room for the least logs",
			func(s *scene) { s.DefragThreshold = 50; s.fill(100, 50, 1); s.haveVolume(273) },
			"Defragment a-1", ""},
		{"E9: a member comes again within the hour if that ends the alarm",
			func(s *scene) { s.exceed(400, 400); s.fill(1000, 400, 1); s.Members[1].DefragmentedLately = true }, "Defragment a-1", ""},
		{"E9: a member does not come again within the hour for free pages alone",
			func(s *scene) { s.exceed(400, 400); s.fill(600, 400, 1); s.Members[1].DefragmentedLately = true }, "Disarm ", ""},
		{"E9: a member without room does not hold up another",
			func(s *scene) { s.exceed(400, 400); s.fill(1000, 400, 1, 2); s.haveVolume(1800) },
			"Defragment a-2", ""},
		{"E9: a member that must shrink and has no room is for a human",
			func(s *scene) { s.exceed(400, 400); s.fill(1000, 400, 1); s.haveVolume(1800) },
			"Block ", "its disk has 1800 MiB, and 1827 MiB are needed"},
		{"E9: a human learns of former data that takes room, too",
			func(s *scene) {
				s.exceed(400, 400)
				s.fill(1000, 400, 1)
				s.haveVolume(1800)
				s.Status.Membership.KeptDataIDs = []string{"kept"}
			},
			"Block ", "raise storage.size; data of members that were given up"},
		{"E9: without storage a member that must shrink needs room on its node's disk",
			func(s *scene) { s.HasStorage = false; s.exceed(400, 400); s.fill(1000, 400, 1); s.haveVolume(1800) },
			"Block ", "raise resources.limits.ephemeral-storage"},
		{"E10: the only member", func(s *scene) {
			s.forget(2)
			s.forget(1)
			s.Members, s.Size, s.DefragThreshold = s.Members[:1], 1, 50
			s.fill(100, 10, 0)
		}, "Defragment a-0", ""},
	} {
		t.Run(c.name, c.test)
	}
}
