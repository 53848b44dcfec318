package etcd

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// record changes the record as a step says that does nothing else: what follows from it is done once it is saved.
func (f *fleet) record(e *databasev1alpha1.EtcdCluster, s membership.Step, now time.Time) {
	record := e.Status.Membership
	switch s.Do {
	case membership.Form:
		f.recordForming(e, s)
	case membership.StartMember:
		m, _ := f.Find(s.Member)
		m.Record.StartedBy, m.Record.ClaimUID = m.Pod.UID, m.Pod.ClaimUID
	case membership.RecordIDs:
		f.recordIDs(record)
	case membership.AdoptMember:
		f.recordAsItRuns(record, s.Member)
	case membership.ForgetMember:
		forget(record, s.Member)
	case membership.WithdrawChange, membership.EndRecovery:
		record.Change = nil
	case membership.Recover:
		f.recordRecovery(e, s, now)
	case membership.RecordLogin:
		f.recordLogin(e, now)
	case membership.LimitLog:
		record.ReadableFrom = f.situation(e).ReadableFrom()
	}
}

func (f *fleet) recordForming(e *databasev1alpha1.EtcdCluster, s membership.Step) {
	record := &databasev1alpha1.EtcdMembership{Token: f.newID(), InitialVersion: s.Version, Restore: s.Restore}
	for _, name := range s.Lost { // whose places on their volumes are needed
		m, _ := f.Find(name)
		record.FormerDataIDs = append(record.FormerDataIDs, m.Record.DataID)
	}
	for _, name := range f.situation(e).FormingMembers() {
		record.Members = append(record.Members, databasev1alpha1.EtcdRecordedMember{Name: name, DataID: f.newID()})
	}
	e.Status.Membership, e.Status.TargetVersion, e.Status.TargetImage, e.Status.CompactedRevision = record, s.Version, s.Image, 0
	forgetAccess(e)
}

func (f *fleet) recordIDs(record *databasev1alpha1.EtcdMembership) {
	record.ClusterID = membership.FormatID(f.ClusterID)
	for i := range record.Members {
		one := &record.Members[i]
		if m, _ := f.Find(one.Name); m.Listed != nil {
			one.ID, one.Ran = membership.FormatID(m.Listed.ID), one.Ran || m.View.Answered && !m.View.IsLearner
		}
	}
}

func (f *fleet) recordAsItRuns(record *databasev1alpha1.EtcdMembership, name string) {
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

// recordRecovery leaves the member alone on record from whose data the cluster goes on.
func (f *fleet) recordRecovery(e *databasev1alpha1.EtcdCluster, s membership.Step, now time.Time) {
	m, _ := f.Find(s.Member)
	survivor := *m.Record
	survivor.Ran = true // it answers, so its data is there, and must be from here on
	record := e.Status.Membership
	record.Change = &databasev1alpha1.EtcdMembershipChange{Type: databasev1alpha1.EtcdRecover, Name: s.Member, Recovery: f.newID()}
	record.Members = []databasev1alpha1.EtcdRecordedMember{survivor}
	e.Status.CompactedRevision = 0 // the revision may go back
	e.Status.LastRecovery = &databasev1alpha1.EtcdRecovery{
		Time: metav1.NewTime(now), Member: s.Member, Lost: s.Lost, Revision: m.View.Revision,
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
