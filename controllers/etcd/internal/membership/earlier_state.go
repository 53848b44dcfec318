package membership

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/launcher/wal"
)

// durable is the recorded entry that the log of a member had on its disk for certain; the zero End is none.
func (s Situation) durable(of databasev1alpha1.EtcdRecordedMember) wal.End {
	for _, log := range s.Status.DurableLogs {
		if log.Name == of.Name && log.DataID == of.DataID {
			return wal.End{Term: uint64(max(0, log.Term)), Index: uint64(max(0, log.Index))}
		}
	}
	return wal.End{}
}

// hasEarlierState reports whether the disk of a member was put back to a state before the recorded entry. A recovery that continues
// from that state takes the entry off the record.
func (s Situation) hasEarlierState(m Member) bool {
	return m.Record != nil && m.Pod.Earlier != nil && m.Pod.LostData == m.Record.DataID && m.Pod.Earlier.IsBelow(s.durable(*m.Record))
}

// howLost says how a member has lost its data.
func (s Situation) howLost(m Member) string {
	if !s.hasEarlierState(m) {
		return "has lost its data"
	}
	return "has an earlier state of its data, as if its disk had been put back: " + s.missingEntries(m)
}

// missingEntries says from where to where entries are missing in the log of a member that has an earlier state.
func (s Situation) missingEntries(m Member) string {
	return fmt.Sprintf("its log ends at %s, and it had %s", m.Pod.Earlier, s.durable(*m.Record))
}

// describeLost names members that have lost their data, and says what is left of that.
func (s Situation) describeLost(lost []Member) string {
	var names []string
	for _, m := range lost {
		name := m.Name
		if s.hasEarlierState(m) {
			name += " (" + s.missingEntries(m) + ")"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// latestEarlierState returns the member whose log ends last of those that have an earlier state on a volume of their own, and
// whether there is one.
func (s Situation) latestEarlierState(lost []Member) (Member, bool) {
	earlier := slices.DeleteFunc(slices.Clone(lost), func(m Member) bool { return !s.hasEarlierState(m) || m.hasAnotherClaim() })
	if len(earlier) == 0 || !s.HasStorage {
		return Member{}, false
	}
	return slices.MaxFunc(earlier, func(a, b Member) int {
		return cmp.Or(cmp.Compare(a.Pod.Earlier.Term, b.Pod.Earlier.Term), cmp.Compare(a.Pod.Earlier.Index, b.Pod.Earlier.Index))
	}), true
}
