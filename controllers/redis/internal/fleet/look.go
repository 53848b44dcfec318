package fleet

import (
	"context"
	"slices"
	"time"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/children"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

const (
	// lookLimit bounds a look at the servers of one object, which are asked all at once. Each reply has a
	// time-out of its own, which a server that is slow at every reply would use up many times.
	lookLimit = wire.LookLimit
	// silentServerTimeout bounds a look at a server that did not answer the last pass: one
	// that is back answers within a millisecond, and a pass must not stand still.
	silentServerTimeout = 200 * time.Millisecond
)

// Look connects to the servers of the pods, asks all at once, and has them watched. accepted are the settings that the servers had
// accepted before this pass.
func (f *Fleet) Look(ctx context.Context, accepted config.Settings) {
	f.open()
	f.ask(ctx)
	f.takeSettings(accepted)
	f.fillFromMemory()
	f.watchServers(ctx)
}

// open turns pods into nodes, and connects to their servers.
func (f *Fleet) open() {
	open := func(address string, confirm wire.Confirm) server {
		return wire.Open(address, f.Credentials.Operator, f.Certificates.TLSConfig, confirm)
	}
	if f.Spec.TLS {
		f.CertificateFile = config.IdentityFiles(f.Certificates.Published).Certificate
	}
	for i := range f.Pods {
		m := children.NodeOf(&f.Pods[i], f.Set, f.operator.Clock.Now())
		m.WasSilent = f.memory.watched.contactOf(m.Address).wasSilent
		f.Nodes = append(f.Nodes, m)
		if m.Address != "" {
			f.servers[m.Name] = open(m.Address, f.confirmNode(m))
		}
	}
	slices.SortFunc(f.Nodes, func(a, b topology.Node) int { return int(config.Ordinal(a.Name) - config.Ordinal(b.Name)) })
	kept := f.memory.takeMasterConnection()
	rep := f.Redis.Status.Replication
	if rep != nil && !slices.ContainsFunc(f.Nodes, func(m topology.Node) bool { return m.PodUID == rep.Master.PodUID }) {
		master := rep.Master
		f.Ghost = &topology.Node{Name: master.Name, PodUID: master.PodUID, Address: master.Address,
			WasSilent: f.memory.watched.contactOf(master.Address).wasSilent}
		f.ghostServer = f.openGhost(kept, func() server { return open(master.Address, nil) })
	}
	if kept.server != nil && !f.ghostKept {
		kept.server.Close()
	}
	if f.Source != nil {
		f.Source.WasSilent = f.memory.watched.contactOf(f.Source.Address).wasSilent
		f.sourceServer = open(f.Source.Address, f.confirmSource(f.Source.Node))
	}
}

// fillFromMemory adds what only earlier passes know: how long each state has lasted, and what the servers were sent.
func (f *Fleet) fillFromMemory() {
	for _, m := range f.addressable() {
		now := f.operator.Clock.Now()
		if m.ErroringSince = f.memory.watched.trackAbsence(m.Address, m.View, now); !m.ErroringSince.IsZero() {
			m.ErroringFor = now.Sub(m.ErroringSince)
		}
		m.SilentFor = f.memory.watched.trackSilence(m.Address, m.Answer, now)
	}
	f.memory.fillPasswords(&f.World, f.Redis.Status.Nodes, f.Credentials, f.masterGivesDumps())
	f.memory.fillSettings(f.Spec, &f.World)
	f.memory.fillCommands(f.addressable(), f.operator.Clock.Now())
	f.FencedFor = f.memory.trackFenced(f.World, f.operator.Clock)
	f.CutOffFor = f.memory.trackCutOff(f.masterAddress(), f.Situation().IsCutOff(), f.operator.Clock)
	f.SinceRouted = time.Hour // long ago
	if last := f.Redis.Status.LastFailover; last != nil && last.RoutedAt != nil {
		f.SinceRouted = f.operator.Clock.Since(last.RoutedAt.Time).Abs() // it may have been another's clock
	}
}

// lookAgain connects to each server again, perhaps to another process at the same address, and asks it.
func (f *Fleet) lookAgain(ctx context.Context) {
	for _, m := range f.addressable() {
		if m != f.Ghost || !f.ghostKept {
			f.serverOf(m).Redial()
		}
	}
	f.ask(ctx)
}

// ask asks all servers at once. Their answers are of different moments: code that compares offsets must ask again.
func (f *Fleet) ask(ctx context.Context) {
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
	f.effects.RunAll(ctx, all)
}
