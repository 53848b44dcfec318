package etcd

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/children"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/wire"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// lookLimit bounds a look at all servers of one object, which are asked at once, and the question for the list of members.
const lookLimit = 800 * time.Millisecond

// hashLimit bounds the comparison of data. A server reads all of it for that, some hundred MiB in a second, and takes no writes
// meanwhile anyway.
const hashLimit = 2500 * time.Millisecond

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

// fleet is the world together with the connections to its servers.
type fleet struct {
	cluster *databasev1alpha1.EtcdCluster
	spec    membership.Spec
	membership.World
	effects
	servers map[string]server            // by the member's name
	usage   map[string]*certificateUsage // likewise, with tls
}

// situation is what the next decision is made from.
func (f *fleet) situation() membership.Situation {
	return membership.Situation{Spec: f.spec, Status: &f.cluster.Status, World: f.World}
}

func (f *fleet) close() {
	for _, s := range f.servers {
		s.Close()
	}
}

// look joins what the record, the pods and the servers say. It opens connections to the servers, which close ends.
func (p *pass) look(ctx context.Context) {
	f := p.fleet
	f.servers, f.usage = map[string]server{}, map[string]*certificateUsage{}
	byName := map[string]*membership.Member{}
	member := func(name string) *membership.Member {
		if byName[name] == nil {
			byName[name] = &membership.Member{Name: name}
		}
		return byName[name]
	}
	if p.cluster.Status.Membership != nil {
		for i := range p.cluster.Status.Membership.Members {
			one := &p.cluster.Status.Membership.Members[i]
			member(one.Name).Record = one
		}
		if change := p.cluster.Status.Membership.Change; change != nil {
			member(change.Name) // etcd may list it already
		}
	}
	if p.cluster.Status.Membership == nil {
		f.FormerData = formerData(p.in.claims)
	}
	p.observeRestores()
	f.Backups = p.backupsOf(p.in.backups)
	never := p.provenNeverRan(ctx)
	for i := range p.in.pods {
		pod := children.ReadPod(&p.in.pods[i], p.in.set)
		pod.NeverRan = never[p.in.pods[i].UID]
		pod.Deleting = pod.Deleting || p.known.wasDeleted(pod.UID, p.clock.Now())
		if claim := p.in.claims[p.in.pods[i].Name]; claim != nil {
			pod.ClaimUID, pod.ClaimGoes = claim.UID, !claim.DeletionTimestamp.IsZero()
			pod.VolumeSize = parts.Bytes(*claim.Status.Capacity.Storage())
		}
		member(p.in.pods[i].Name).Pod = pod
		if pod.Address == "" || pod.Permit == "" {
			continue // nothing was started in it
		}
		if server, err := p.open(&p.in.pods[i]); err == nil {
			f.servers[p.in.pods[i].Name] = server
		} else {
			log.FromContext(ctx).Error(err, "opening a connection", "member", p.in.pods[i].Name)
		}
	}
	for _, m := range byName {
		f.Members = append(f.Members, *m)
	}
	f.sortMembers()
	f.lookAtServers(ctx, p.cluster.Status.Membership)
	f.readList(ctx)
	f.CompactedLately = p.known.compactedLately(p.clock.Now())
	if !f.Listed {
		f.lookAtWaiting(ctx, p.cluster.Status.Membership)
	}
	if f.HasCorruptAlarm() {
		f.hashData(ctx)
	}
	if f.spec.RequiresLogin {
		p.lookAtAccess(ctx)
	}
}

// formerData are the names of the claims that a member has started on.
func formerData(claims map[string]*corev1.PersistentVolumeClaim) []string {
	var names []string
	for _, claim := range claims {
		if claim.Annotations[config.AnnotationData] != "" {
			names = append(names, claim.Name)
		}
	}
	slices.Sort(names)
	return names
}
