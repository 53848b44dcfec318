package redis

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/children"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// server is one redis-server, to look at and to command.
type server interface {
	Look(ctx context.Context) wire.View
	Fence(ctx context.Context) error
	Follow(ctx context.Context, address string, as wire.Login) error
	Admit(ctx context.Context, users []string, admitted []wire.Login) error
	Pin(ctx context.Context) error
	ServeStale(ctx context.Context) error
	Promote(ctx context.Context, minReplicas int32) error
	SetMinReplicas(ctx context.Context, n int32) error
	Pause(ctx context.Context, d time.Duration) error
	Unpause(ctx context.Context) error
	KillClients(ctx context.Context) error
	KillOtherOperators(ctx context.Context) error
	SetPasswords(ctx context.Context, user string, digests ...string) error
	DefineUser(ctx context.Context, user string, digests []string, rights ...string) error
	KillUser(ctx context.Context, user string) error
	LoadCertificate(ctx context.Context, files wire.TLSFiles) (bool, error)
	Configure(ctx context.Context, directive, value string) error
	SaveSnapshot(ctx context.Context) error
	Redial()
	Close()
}

const (
	// lookLimit bounds a look at the servers of one object, which are asked all at once. Each reply has a
	// time-out of its own, which a server that is slow at every reply would use up many times.
	lookLimit = wire.LookLimit
	// silentServerTimeout bounds a look at a server that did not answer the last pass: one
	// that is back answers within a millisecond, and a pass must not stand still.
	silentServerTimeout = 200 * time.Millisecond
)

// fleet is the world together with the connections to its servers.
type fleet struct {
	spec config.Spec
	topology.World
	effects
	servers      map[string]server  // by pod name
	ghostServer  server             // of the recorded master, when its pod is gone
	ghostKept    bool               // the ghost is asked over the connection of an earlier pass, because no new one may be made
	keeps        server             // that the next pass may need
	sourceServer server             // that serves a backup
	credentials  config.Credentials // with which the servers are asked
	certificates config.Certificates
}

// masterServer returns the connection to the recorded master.
func (p *pass) masterServer() server {
	process := p.redis.Status.Replication.Master
	if p.Ghost != nil && p.Ghost.PodUID == process.PodUID {
		return p.ghostServer
	}
	return p.servers[process.Name]
}

// masterAddress returns the address of the recorded master, "" if there is none.
func (p *pass) masterAddress() string {
	if rep := p.redis.Status.Replication; rep != nil {
		return p.RecordedMaster(rep.Master).Address
	}
	return ""
}

// addresses returns those of all servers that could be asked.
func (f *fleet) addresses() []string {
	var list []string
	for _, m := range f.addressable() {
		list = append(list, m.Address)
	}
	return list
}

func (f *fleet) close() {
	for _, s := range append(slices.Collect(maps.Values(f.servers)), f.ghostServer, f.sourceServer) {
		if s != nil && s != f.keeps {
			s.Close()
		}
	}
}

// look connects to the servers of the pods, asks all at once, and has them watched.
func (p *pass) look(ctx context.Context) {
	p.open()
	p.ask(ctx)
	p.takeSettings(p.acceptedSettings)
	p.fillFromMemory()
	p.watchServers(ctx)
}

// open turns pods into nodes, and connects to their servers.
func (p *pass) open() {
	open := func(address string, confirm wire.Confirm) server {
		return wire.Open(address, p.credentials.Operator, p.certificates.TLSConfig, confirm)
	}
	if p.spec.TLS {
		p.CertificateFile = config.IdentityFiles(p.certificates.Published).Certificate
	}
	for i := range p.pods {
		m := children.NodeOf(&p.pods[i], p.set, p.clock.Now())
		m.WasSilent = p.known.watched.contactOf(m.Address).wasSilent
		p.Nodes = append(p.Nodes, m)
		if m.Address != "" {
			p.servers[m.Name] = open(m.Address, p.confirmNode(m))
		}
	}
	slices.SortFunc(p.Nodes, func(a, b topology.Node) int { return int(config.Ordinal(a.Name) - config.Ordinal(b.Name)) })
	kept := p.known.takeMasterConnection()
	rep := p.redis.Status.Replication
	if rep != nil && !slices.ContainsFunc(p.Nodes, func(m topology.Node) bool { return m.PodUID == rep.Master.PodUID }) {
		master := rep.Master
		p.Ghost = &topology.Node{Name: master.Name, PodUID: master.PodUID, Address: master.Address,
			WasSilent: p.known.watched.contactOf(master.Address).wasSilent}
		p.ghostServer = p.openGhost(kept, func() server { return open(master.Address, nil) })
	}
	if kept.server != nil && !p.ghostKept {
		kept.server.Close()
	}
	if p.Source != nil {
		p.Source.WasSilent = p.known.watched.contactOf(p.Source.Address).wasSilent
		p.sourceServer = open(p.Source.Address, p.confirmSource(p.Source.Node))
	}
}

// fillFromMemory adds what only earlier passes know: how long each state has lasted, and what the servers were sent.
func (p *pass) fillFromMemory() {
	for _, m := range p.addressable() {
		now := p.clock.Now()
		if m.ErroringSince = p.known.watched.trackAbsence(m.Address, m.View, now); !m.ErroringSince.IsZero() {
			m.ErroringFor = now.Sub(m.ErroringSince)
		}
		m.SilentFor = p.known.watched.trackSilence(m.Address, m.Answer, now)
	}
	p.known.fillPasswords(&p.World, p.redis.Status.Nodes, p.credentials)
	p.known.fillSettings(p.spec, &p.World)
	p.known.fillCommands(p.addressable(), p.clock.Now())
	p.FencedFor = p.known.trackFenced(p.World, p.clock)
	p.CutOffFor = p.known.trackCutOff(p.masterAddress(), p.situation().IsCutOff(), p.clock)
	p.SinceRouted = time.Hour // long ago
	if last := p.redis.Status.LastFailover; last != nil && last.RoutedAt != nil {
		p.SinceRouted = p.clock.Since(last.RoutedAt.Time).Abs() // it may have been another's clock
	}
}

// lookAgain connects to each server again, perhaps to another process at the same address, and asks it.
func (f *fleet) lookAgain(ctx context.Context) {
	for _, m := range f.addressable() {
		if m != f.Ghost || !f.ghostKept {
			f.serverOf(m).Redial()
		}
	}
	f.ask(ctx)
}

// ask asks all servers at once. Their answers are of different moments: code that compares offsets must ask again.
func (f *fleet) ask(ctx context.Context) {
	ctx, done := context.WithTimeout(ctx, lookLimit)
	defer done()
	var all []func()
	for _, m := range f.addressable() {
		s := f.serverOf(m)
		all = append(all, func() {
			ctx := ctx
			if m.WasSilent {
				var done context.CancelFunc
				ctx, done = context.WithTimeout(ctx, silentServerTimeout)
				defer done()
			}
			m.View = wire.View{} // silent, should the look not end as it ought to
			if !m.OthersRemain {
				m.View = s.Look(ctx)
			}
		})
	}
	f.runAll(ctx, all)
}

// serverOf returns the connection to that node.
func (f *fleet) serverOf(m *topology.Node) server {
	switch {
	case m == f.Ghost:
		return f.ghostServer
	case f.Source != nil && m == &f.Source.Node:
		return f.sourceServer
	}
	return f.servers[m.Name]
}

// addressable returns the nodes that have an address, the ghost, and what a backup is loaded from.
func (f *fleet) addressable() []*topology.Node {
	var list []*topology.Node
	for i := range f.Nodes {
		if f.Nodes[i].Address != "" {
			list = append(list, &f.Nodes[i])
		}
	}
	if f.Ghost != nil {
		list = append(list, f.Ghost)
	}
	if f.Source != nil && f.Source.Address != "" {
		list = append(list, &f.Source.Node)
	}
	return list
}
