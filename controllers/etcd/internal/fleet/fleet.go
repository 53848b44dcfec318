// Package fleet has the members of one EtcdCluster as servers: it connects to them, looks at them, and carries out what is planned.
package fleet

import (
	"context"
	"errors"

	"k8s.io/utils/clock"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/wire"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

// server is one etcd server, to look at and to change members by.
type server interface {
	Look(ctx context.Context) membership.View
	LookAtWaiting(ctx context.Context) (membership.View, error)
	Members(ctx context.Context) ([]membership.ListedMember, error)
	Alarms(ctx context.Context) ([]membership.Alarm, error)
	AddLearner(ctx context.Context, peerURL string) (uint64, error)
	Remove(ctx context.Context, id uint64) error
	Promote(ctx context.Context, id uint64) error
	MoveLeader(ctx context.Context, to uint64) error
	WriteEntries(ctx context.Context, count int) error
	Compact(ctx context.Context, revision int64) error
	Defragment(ctx context.Context) error
	HashData(ctx context.Context) (membership.DataHash, error)
	LookAtAccess(ctx context.Context, users []wire.User, others bool) (membership.Access, error)
	AddRole(ctx context.Context) error
	SetUser(ctx context.Context, user wire.User) error
	DropUser(ctx context.Context, name string) error
	RequireLogin(ctx context.Context) error
	Disarm(ctx context.Context, alarm membership.Alarm) error
	Close()
}

// Fleet is the members of one EtcdCluster as servers, in one pass.
type Fleet struct {
	// Cluster is the object. Its status has the record of the members, which acts change and save.
	Cluster *databasev1alpha1.EtcdCluster
	Spec    membership.Spec
	// World is what was seen: from the start what the API server has, and once Look has returned what the servers say.
	membership.World
	Effects Effects
	Memory  *Memory
	Clock   clock.PassiveClock
	// Certificates are those that clients are shown, with tls. The operator connects with the published one.
	Certificates pki.Certificates
	// Logins are who may log in, with auth.
	Logins config.Logins

	servers map[string]server            // by the member's name; Open fills it in
	usage   map[string]*certificateUsage // likewise, with tls
	wanted  config.Login                 // that applications are to have, with auth, before an act; Look fills it in
}

// Situation is what the next decision is made from.
func (f *Fleet) Situation() membership.Situation {
	return membership.Situation{Spec: f.Spec, Status: &f.Cluster.Status, World: f.World}
}

// Close ends the connections to the servers.
func (f *Fleet) Close() {
	for _, s := range f.servers {
		s.Close()
	}
}

// anyVoter returns a server that can change members: it passes requests on to the leader.
func (f *Fleet) anyVoter() (server, error) {
	if leader, ok := f.Leader(); ok {
		return f.servers[leader.Name], nil
	}
	for _, m := range f.Where(func(m membership.Member) bool { return m.IsVoter() && m.IsHealthy() }) {
		return f.servers[m.Name], nil
	}
	return nil, errors.New("no voter answers")
}
