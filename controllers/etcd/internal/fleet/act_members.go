package fleet

import (
	"context"
	"fmt"
	"slices"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// doAdd saves what is about to be added, adds it, and saves its ID. Done again after it was cut short, it finds by the peer URL
// what it had added.
func (f *Fleet) doAdd(ctx context.Context, s membership.Step) error {
	if f.Cluster.Status.Membership.Change == nil {
		f.Cluster.Status.Membership.Change = &databasev1alpha1.EtcdMembershipChange{Type: databasev1alpha1.EtcdAdd, Name: s.Member,
			DataID: f.Effects.NewID()}
		if err := f.save(ctx); err != nil {
			return err
		}
	}
	server, err := f.anyVoter()
	if err != nil {
		return err
	}
	id, err := findOrAdd(ctx, server, f.Spec.PeerURL(s.Member))
	if err != nil {
		return err
	}
	record := f.Cluster.Status.Membership // as the save has left it
	addMember(record, databasev1alpha1.EtcdRecordedMember{
		Name: s.Member, ID: membership.FormatID(id), DataID: record.Change.DataID, Joined: true,
	})
	record.Change = nil
	return f.save(ctx)
}

// findOrAdd returns the ID of the member with that peer URL, which it adds as a learner if there is none.
func findOrAdd(ctx context.Context, server server, peerURL string) (uint64, error) {
	list, err := server.Members(ctx)
	if err != nil {
		return 0, err
	}
	if i := slices.IndexFunc(list, func(m membership.ListedMember) bool { return m.PeerURL == peerURL }); i >= 0 {
		return list[i].ID, nil
	}
	return server.AddLearner(ctx, peerURL)
}

// doRemove saves which member is about to be removed, stamps that on the claims, removes it by its ID, and saves that it is gone.
func (f *Fleet) doRemove(ctx context.Context, s membership.Step) error {
	if f.Cluster.Status.Membership.Change == nil {
		m, _ := f.Find(s.Member)
		f.Cluster.Status.Membership.Change = &databasev1alpha1.EtcdMembershipChange{Type: databasev1alpha1.EtcdRemove, Name: s.Member,
			ID: m.CurrentID()}
		if err := f.save(ctx); err != nil {
			return err
		}
	}
	if err := f.stampClaims(ctx); err != nil { // volumes that outlive the object must show that one of them leaves
		return err
	}
	record := f.Cluster.Status.Membership // as the save has left it
	server, err := f.anyVoter()
	if err != nil {
		return err
	}
	id, err := membership.ParseID(record.Change.ID)
	if err != nil {
		return fmt.Errorf("status.membership.change.id: %w", err)
	}
	if err := server.Remove(ctx, id); err != nil {
		return err
	}
	forget(record, s.Member)
	record.Change = nil
	return f.save(ctx)
}

func (f *Fleet) doPromote(ctx context.Context, s membership.Step) error {
	m, _ := f.Find(s.Member)
	server, err := f.anyVoter()
	if err != nil {
		return err
	}
	if err := server.Promote(ctx, m.Listed.ID); err != nil {
		return err
	}
	m.Record.Ran = true // it has caught up, so its data is there
	return f.save(ctx)
}

func (f *Fleet) doMoveLeader(ctx context.Context, s membership.Step) error {
	m, _ := f.Find(s.Target)
	return f.servers[s.Member].MoveLeader(ctx, m.Listed.ID)
}
