package membership

import (
	"fmt"
	"slices"
	"strings"
	"time"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// DataHash is what the keys and values of a member hash to. Two of the same revisions can be compared. The zero DataHash is
// of a member that was not asked yet, or did not answer in time.
type DataHash struct {
	Revision, CompactRevision int64
	Hash                      uint32
}

// comparesWith reports whether two hashes are of the same revisions.
func (d DataHash) comparesWith(other DataHash) bool {
	return d.Revision != 0 && d.Revision == other.Revision && d.CompactRevision == other.CompactRevision
}

// isCorrupt reports whether an alarm says that the data of members differs.
func (a Alarm) isCorrupt() bool { return a.Type == AlarmCorrupt }

// HasCorruptAlarm reports whether etcd has found that the data of members differs.
func (w World) HasCorruptAlarm() bool { return slices.ContainsFunc(w.Alarms, Alarm.isCorrupt) }

// replaceCorrupt ends the alarm that the data of members differs. The alarm does not say whose is wrong: etcd 3.5 raises it for
// member 0, and the periodic check of 3.6 takes the leader's data as right (server/etcdserver/corrupt.go). So the operator compares
// the data itself, and replaces a member only if a majority agrees against it; addMissing brings a new one in its place. While
// the alarm is raised etcd takes no writes, and all come to the same revision.
func (s Situation) replaceCorrupt() (Step, bool) {
	i := slices.IndexFunc(s.Alarms, Alarm.isCorrupt)
	if i < 0 {
		return Step{}, false
	}
	right, agreed := s.dataOfMajority()
	listed := s.Where(func(m Member) bool { return m.Listed != nil })
	unknown := slices.DeleteFunc(slices.Clone(listed), func(m Member) bool { return m.View.Data.comparesWith(right) })
	different := slices.DeleteFunc(listed, func(m Member) bool { return !m.View.Data.comparesWith(right) || m.View.Data == right })
	switch {
	case len(unknown) > 0:
		return Step{Do: Block, Reason: commonv1.ReasonDataCorrupt, RequeueAfter: time.Second, Message: fmt.Sprintf(
			"the data of members differs, and no writes are taken; whose is right is known once %s can be compared with the others "+
				"(etcdctl endpoint hashkv)", strings.Join(NamesOf(unknown), ", "))}, true
	case !agreed:
		return Step{Do: Block, Reason: commonv1.ReasonDataCorrupt, RequeueAfter: 10 * time.Second, Message: "the data of members differs, and " +
			"no majority of them agrees on what is right; no writes are taken, and nothing is changed: " +
			"restore an earlier snapshot into a new EtcdCluster"}, true
	case len(different) == 0:
		return Step{Do: Disarm, Alarm: s.Alarms[i], Message: "the data of all members is the same"}, true
	}
	leader, _ := s.Leader()
	wrong := different[0]
	if wrong.Name == leader.Name && len(different) > 1 {
		wrong = different[1]
	}
	if next, ok := s.moveLeaderFrom(wrong); ok {
		return next, true
	}
	return Step{Do: RemoveMember, Member: wrong.Name, Message: "its data differs from that of the majority"}, true
}

// dataOfMajority returns the hash that most voters share, and whether these are a majority of all voters.
func (s Situation) dataOfMajority() (most DataHash, agreed bool) {
	voters, shared := s.Where(Member.IsVoter), map[DataHash]int{}
	for _, m := range voters {
		shared[m.View.Data]++
		if m.View.Data.Revision != 0 && shared[m.View.Data] > shared[most] {
			most = m.View.Data
		}
	}
	return most, most.Revision != 0 && shared[most] > len(voters)/2
}
