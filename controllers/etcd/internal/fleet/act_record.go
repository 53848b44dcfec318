package fleet

import (
	"cmp"
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// saved is an act that only changes the record and saves it: what follows from it is done once it is saved.
func saved(change func(*Fleet, membership.Step)) func(*Fleet, context.Context, membership.Step) error {
	return func(f *Fleet, ctx context.Context, s membership.Step) error {
		change(f, s)
		return f.save(ctx)
	}
}

func (f *Fleet) recordStart(s membership.Step) {
	m, _ := f.Find(s.Member)
	m.Record.StartedBy, m.Record.ClaimUID = m.Pod.UID, m.Pod.ClaimUID
}

func (f *Fleet) recordLeave(s membership.Step) { forget(f.Cluster.Status.Membership, s.Member) }

func (f *Fleet) recordNoChange(membership.Step) { f.Cluster.Status.Membership.Change = nil }

func (f *Fleet) recordLogLimit(membership.Step) {
	f.Cluster.Status.Membership.ReadableFrom = f.Situation().ReadableFrom()
}

func (f *Fleet) recordForming(s membership.Step) {
	record := &databasev1alpha1.EtcdMembership{Token: f.Effects.NewID(), InitialVersion: s.Version, Restore: s.Restore, NamesAllData: true}
	if before := f.Cluster.Status.Membership; before != nil {
		record.FormerDataIDs, record.KeptDataIDs, record.NamesAllData = before.FormerDataIDs, before.KeptDataIDs, before.NamesAllData
		record.Revision = before.Revision
		for _, member := range before.Members {
			note := noteKept
			if slices.Contains(s.Lost, member.Name) { // whose places on their volumes are needed
				note = noteFormer
			}
			note(record, member.DataID)
		}
	}
	for _, name := range f.Situation().FormingMembers() {
		record.Members = append(record.Members, databasev1alpha1.EtcdRecordedMember{Name: name, DataID: f.Effects.NewID()})
	}
	f.Cluster.Status.Membership, f.Cluster.Status.TargetVersion, f.Cluster.Status.TargetImage, f.Cluster.Status.CompactedRevision = record,
		s.Version, s.Image, 0
	f.forgetAccess()
}

func (f *Fleet) recordIDs(membership.Step) {
	record := f.Cluster.Status.Membership
	record.ClusterID = membership.FormatID(f.ClusterID)
	for i := range record.Members {
		member := &record.Members[i]
		if m, _ := f.Find(member.Name); m.Listed != nil {
			member.ID, member.Ran = membership.FormatID(m.Listed.ID), member.Ran || m.View.Answered && !m.View.IsLearner
		}
	}
}

func (f *Fleet) recordAsItRuns(s membership.Step) {
	record, name := f.Cluster.Status.Membership, s.Member
	m, _ := f.Find(name)
	permit, _ := membership.ParsePermit(m.Pod.Permit) // the plan has read it
	record.Members = slices.DeleteFunc(record.Members, func(member databasev1alpha1.EtcdRecordedMember) bool { return member.Name == name })
	addMember(record, databasev1alpha1.EtcdRecordedMember{
		Name: name, ID: membership.FormatID(m.View.ID), DataID: permit.Data,
		StartedBy: m.Pod.UID, ClaimUID: m.Pod.ClaimUID, Ran: true, Joined: true,
	})
	if c := record.Change; c != nil && c.Name == name {
		record.Change = nil
	}
	record.NamesAllData = false // it is older than what runs
}

// recordRecovery leaves only that member in the record from whose data the cluster continues.
func (f *Fleet) recordRecovery(s membership.Step) {
	m, _ := f.Find(s.Member)
	survivor := *m.Record
	survivor.Ran = true // it answers, so its data is there, and must stay there
	record := f.Cluster.Status.Membership
	for _, member := range record.Members {
		if member.Name != s.Member {
			noteKept(record, member.DataID)
		}
	}
	record.Change = &databasev1alpha1.EtcdMembershipChange{Type: databasev1alpha1.EtcdRecover, Name: s.Member, Recovery: f.Effects.NewID()}
	record.Members = []databasev1alpha1.EtcdRecordedMember{survivor}
	f.Cluster.Status.CompactedRevision = 0 // the revision may go back
	f.Cluster.Status.DurableLogs = nil     // a cluster of one drops what it does not know to be confirmed
	f.Cluster.Status.LastRecovery = &databasev1alpha1.EtcdRecovery{
		Time: metav1.NewTime(f.Clock.Now()), Member: s.Member, Lost: s.Lost, Revision: cmp.Or(m.View.Revision, m.Pod.RecoveredTo),
	}
}

// maxDataIDs bounds how many data directories each list of the record names: of former members, of those that are kept, and of those that
// a restore keeps until its first member runs.
const maxDataIDs = 32

// forget takes a member off the record. What it leaves on its volume is dropped by the next member there.
func forget(record *databasev1alpha1.EtcdMembership, name string) {
	i := slices.IndexFunc(record.Members, func(member databasev1alpha1.EtcdRecordedMember) bool { return member.Name == name })
	if i < 0 {
		return
	}
	noteFormer(record, record.Members[i].DataID)
	record.Members = slices.Delete(slices.Clone(record.Members), i, i+1) // the world points into the list
}

// noteFormer remembers data directories that the next members on these volumes drop.
func noteFormer(record *databasev1alpha1.EtcdMembership, dataIDs ...string) {
	record.FormerDataIDs = remember(record, record.FormerDataIDs, dataIDs)
}

// noteKept remembers data directories that stay on their volumes, next to those of the next members.
func noteKept(record *databasev1alpha1.EtcdMembership, dataIDs ...string) {
	record.KeptDataIDs = remember(record, record.KeptDataIDs, dataIDs)
}

// remember appends data directories to those that the record names. Once the oldest ones are dropped, the record no longer names all.
func remember(record *databasev1alpha1.EtcdMembership, named, dataIDs []string) []string {
	named = append(slices.Clone(named), dataIDs...)
	forgotten := max(0, len(named)-maxDataIDs)
	record.NamesAllData = record.NamesAllData && forgotten == 0
	return named[forgotten:]
}

// addMember keeps the record sorted.
func addMember(record *databasev1alpha1.EtcdMembership, member databasev1alpha1.EtcdRecordedMember) {
	record.Members = append(record.Members, member)
	slices.SortFunc(record.Members, func(a, b databasev1alpha1.EtcdRecordedMember) int { return strings.Compare(a.Name, b.Name) })
}
