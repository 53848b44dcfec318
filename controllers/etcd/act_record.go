package etcd

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// saved is an act that only changes the record and saves it: what follows from it is done once it is saved.
func saved(change func(*pass, membership.Step)) act {
	return func(p *pass, ctx context.Context, s membership.Step) error {
		change(p, s)
		return p.save(ctx)
	}
}

func (f *fleet) recordStart(s membership.Step) {
	m, _ := f.Find(s.Member)
	m.Record.StartedBy, m.Record.ClaimUID = m.Pod.UID, m.Pod.ClaimUID
}

func (f *fleet) recordLeave(s membership.Step) { forget(f.cluster.Status.Membership, s.Member) }

func (f *fleet) recordNoChange(membership.Step) { f.cluster.Status.Membership.Change = nil }

func (f *fleet) recordLogLimit(membership.Step) {
	f.cluster.Status.Membership.ReadableFrom = f.situation().ReadableFrom()
}

func (f *fleet) recordForming(s membership.Step) {
	record := &databasev1alpha1.EtcdMembership{Token: f.newID(), InitialVersion: s.Version, Restore: s.Restore}
	for _, name := range s.Lost { // whose places on their volumes are needed
		m, _ := f.Find(name)
		record.FormerDataIDs = append(record.FormerDataIDs, m.Record.DataID)
	}
	for _, name := range f.situation().FormingMembers() {
		record.Members = append(record.Members, databasev1alpha1.EtcdRecordedMember{Name: name, DataID: f.newID()})
	}
	f.cluster.Status.Membership, f.cluster.Status.TargetVersion, f.cluster.Status.TargetImage, f.cluster.Status.CompactedRevision = record,
		s.Version, s.Image, 0
	f.forgetAccess()
}

func (f *fleet) recordIDs(membership.Step) {
	record := f.cluster.Status.Membership
	record.ClusterID = membership.FormatID(f.ClusterID)
	for i := range record.Members {
		one := &record.Members[i]
		if m, _ := f.Find(one.Name); m.Listed != nil {
			one.ID, one.Ran = membership.FormatID(m.Listed.ID), one.Ran || m.View.Answered && !m.View.IsLearner
		}
	}
}

func (f *fleet) recordAsItRuns(s membership.Step) {
	record, name := f.cluster.Status.Membership, s.Member
	m, _ := f.Find(name)
	permit, _ := membership.ParsePermit(m.Pod.Permit) // the plan has read it
	record.Members = slices.DeleteFunc(record.Members, func(one databasev1alpha1.EtcdRecordedMember) bool { return one.Name == name })
	addMember(record, databasev1alpha1.EtcdRecordedMember{
		Name: name, ID: membership.FormatID(m.View.ID), DataID: permit.Data,
		StartedBy: m.Pod.UID, ClaimUID: m.Pod.ClaimUID, Ran: true, Joined: true,
	})
	if c := record.Change; c != nil && c.Name == name {
		record.Change = nil
	}
}

// recordRecovery leaves only that member in the record from whose data the cluster continues.
func (p *pass) recordRecovery(s membership.Step) {
	m, _ := p.Find(s.Member)
	survivor := *m.Record
	survivor.Ran = true // it answers, so its data is there, and must stay there
	record := p.cluster.Status.Membership
	record.Change = &databasev1alpha1.EtcdMembershipChange{Type: databasev1alpha1.EtcdRecover, Name: s.Member, Recovery: p.newID()}
	record.Members = []databasev1alpha1.EtcdRecordedMember{survivor}
	p.cluster.Status.CompactedRevision = 0 // the revision may go back
	p.cluster.Status.LastRecovery = &databasev1alpha1.EtcdRecovery{
		Time: metav1.NewTime(p.clock.Now()), Member: s.Member, Lost: s.Lost, Revision: m.View.Revision,
	}
}

// maxFormer bounds how many data directories of former members are remembered. A volume has those of one place alone.
const maxFormer = 32

// forget takes a member off the record. What it leaves on its volume is dropped by the next member there.
func forget(record *databasev1alpha1.EtcdMembership, name string) {
	i := slices.IndexFunc(record.Members, func(one databasev1alpha1.EtcdRecordedMember) bool { return one.Name == name })
	if i < 0 {
		return
	}
	noteFormer(record, record.Members[i].DataID)
	record.Members = slices.Delete(slices.Clone(record.Members), i, i+1) // the world points into the list
}

// noteFormer remembers data directories that the next members on these volumes drop.
func noteFormer(record *databasev1alpha1.EtcdMembership, dataIDs ...string) {
	record.FormerDataIDs = append(record.FormerDataIDs, dataIDs...)
	record.FormerDataIDs = record.FormerDataIDs[max(0, len(record.FormerDataIDs)-maxFormer):]
}

// addMember keeps the record sorted.
func addMember(record *databasev1alpha1.EtcdMembership, one databasev1alpha1.EtcdRecordedMember) {
	record.Members = append(record.Members, one)
	slices.SortFunc(record.Members, func(a, b databasev1alpha1.EtcdRecordedMember) int { return strings.Compare(a.Name, b.Name) })
}
