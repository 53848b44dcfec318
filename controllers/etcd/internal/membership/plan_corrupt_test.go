package membership

import "testing"

// corrupt raises the alarm for a member of that ID, and gives each member data that hashes to that number; 0 is of one that did
// not answer the question.
func (s *scene) corrupt(id uint64, hashes ...uint32) {
	s.Alarms = append(s.Alarms, Alarm{id, AlarmCorrupt})
	for i, hash := range hashes {
		if hash != 0 {
			s.Members[i].View.Data = DataHash{Revision: 7, CompactRevision: 3, Hash: hash}
		}
	}
}

func TestCorruptData(t *testing.T) {
	five := func(s *scene) { s.addVoter(); s.addVoter(); s.Size = 5 }
	for _, c := range []row{
		{"E9: the member that differs from a majority is replaced", func(s *scene) { s.corrupt(s.Members[2].Listed.ID, 1, 1, 2) },
			"RemoveMember a-2", "differs"},
		{"E9: also if etcd does not say which", func(s *scene) { s.corrupt(0, 1, 2, 1) }, "RemoveMember a-1", "differs"},
		{"E9: and not the one that etcd blames, if another differs", func(s *scene) { s.corrupt(s.Members[1].Listed.ID, 1, 1, 2) },
			"RemoveMember a-2", ""},
		{"E9: a leader hands the lead on first", func(s *scene) { s.corrupt(0, 2, 1, 1) }, "MoveLeader a-0", ""},
		{"E9: of several that differ, the leader last", func(s *scene) { five(s); s.corrupt(0, 2, 1, 3, 1, 1) }, "RemoveMember a-2", ""},
		{"E9: nothing is touched without a majority", func(s *scene) { s.corrupt(0, 1, 2, 3) }, "Block ", "no majority of them agrees"},
		{"E9: half is no majority", func(s *scene) { s.addVoter(); s.corrupt(0, 1, 1, 2, 2) }, "Block ", "no majority of them agrees"},
		{"E9: nothing is touched while one cannot be compared", func(s *scene) { five(s); s.corrupt(0, 1, 1, 1, 2, 0) },
			"Block ", "once a-4 can be compared"},
		{"E9: another revision cannot be compared", func(s *scene) { s.corrupt(0, 1, 1, 2); s.Members[2].View.Data.Revision = 6 },
			"Block ", "once a-2 can be compared"},
		{"E9: nor what is left of another compaction", func(s *scene) { s.corrupt(0, 1, 1, 2); s.Members[2].View.Data.CompactRevision = 2 },
			"Block ", "once a-2 can be compared"},
		{"E9: no one answers the question", func(s *scene) { s.corrupt(0) }, "Block ", "once a-0, a-1, a-2 can be compared"},
		{"E9: a learner is compared, too", func(s *scene) { s.addLearner(); s.Size = 4; s.corrupt(0, 1, 1, 1, 2) },
			"RemoveMember a-3", "differs"},
		{"E9: and counts for no majority", func(s *scene) {
			s.forget(2)
			s.Members, s.Size = s.Members[:2], 3
			s.addLearner()
			s.corrupt(0, 1, 2, 1)
		}, "Block ", "no majority of them agrees"},
		{"E9: the alarm is taken back when all data is the same", func(s *scene) { s.corrupt(0, 1, 1, 1) },
			"Disarm ", "the data of all members is the same"},
	} {
		t.Run(c.name, c.test)
	}
}
