package redis

import (
	"context"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
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

// situation is what the next decision is made from.
func (f *fleet) situation(redis *cachev1alpha1.Redis) topology.Situation {
	return topology.Situation{Spec: f.spec, Status: &redis.Status, World: f.World}
}

// masterServer returns the connection to the master of record.
func (f *fleet) masterServer(r *cachev1alpha1.Redis) server {
	p := r.Status.Replication.Master
	if f.Ghost != nil && f.Ghost.PodUID == p.PodUID {
		return f.ghostServer
	}
	return f.servers[p.Name]
}

// masterAddress returns the address of the master of record, "" if there is none.
func (f *fleet) masterAddress(r *cachev1alpha1.Redis) string {
	if rep := r.Status.Replication; rep != nil {
		return f.RecordedMaster(rep.Master).Address
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

// openFleet turns pods into nodes, connects to their servers and asks all at once. Close the fleet: it holds the connections.
func (r *Reconciler) openFleet(ctx context.Context, redis *cachev1alpha1.Redis, spec config.Spec, pods []corev1.Pod, source *topology.Source,
	set *appsv1.StatefulSet, s secrets, outside effects) *fleet {
	f := &fleet{spec: spec, effects: outside, servers: map[string]server{}, credentials: s.credentials, certificates: s.certificates}
	open := func(address string, confirm wire.Confirm) server {
		return wire.Open(address, s.credentials.Operator, s.certificates.TLSConfig, confirm)
	}
	if spec.TLS {
		f.CertificateFile = config.IdentityFiles(s.certificates.Published).Certificate
	}
	for i := range pods {
		m := r.nodeFromPod(&pods[i], set)
		m.WasSilent = r.memory.wasSilent(redis, m.Address)
		f.Nodes = append(f.Nodes, m)
		if m.Address != "" {
			f.servers[m.Name] = open(m.Address, r.confirmNode(redis, set, m))
		}
	}
	slices.SortFunc(f.Nodes, func(a, b topology.Node) int { return int(config.Ordinal(a.Name) - config.Ordinal(b.Name)) })
	kept := r.memory.takeMasterConnection(redis)
	if rep := redis.Status.Replication; rep != nil && !slices.ContainsFunc(f.Nodes, func(m topology.Node) bool { return m.PodUID == rep.Master.PodUID }) {
		p := rep.Master
		f.Ghost = &topology.Node{Name: p.Name, PodUID: p.PodUID, Address: p.Address, WasSilent: r.memory.wasSilent(redis, p.Address)}
		f.ghostServer = f.openGhost(kept, func() server { return open(p.Address, nil) })
	}
	if kept.server != nil && !f.ghostKept {
		kept.server.Close()
	}
	if f.Source = source; source != nil {
		source.WasSilent = r.memory.wasSilent(redis, source.Address)
		f.sourceServer = open(source.Address, r.confirmSource(redis, source.Node))
	}
	f.look(ctx)
	f.takeSettings(s.settings)
	r.fillFromMemory(redis, f)
	return f
}

// fillFromMemory adds what only earlier passes know: how long each state has lasted, and what the servers were told.
func (r *Reconciler) fillFromMemory(redis *cachev1alpha1.Redis, f *fleet) {
	for _, m := range f.addressable() {
		now := r.clock.Now()
		if m.ErroringSince = r.memory.trackAbsence(redis, m.Address, m.View, now); !m.ErroringSince.IsZero() {
			m.ErroringFor = now.Sub(m.ErroringSince)
		}
		m.SilentFor = r.memory.trackSilence(redis, m.Address, m.Answer, now)
	}
	r.memory.fillPasswords(redis, &f.World, f.credentials)
	r.memory.fillSettings(redis, f.spec, &f.World)
	r.memory.fillCommands(redis, f.addressable(), r.clock.Now())
	f.FencedFor = r.memory.trackFenced(redis, f.World, r.clock)
	f.CutOffFor = r.memory.trackCutOff(redis, f.masterAddress(redis), f.situation(redis).IsCutOff(), r.clock)
	f.SinceRouted = time.Hour // long ago
	if last := redis.Status.LastFailover; last != nil && last.RoutedAt != nil {
		f.SinceRouted = r.clock.Since(last.RoutedAt.Time).Abs() // it may have been another's clock
	}
}

// lookAgain connects to each server anew, perhaps to another process at the same address, and asks it.
func (f *fleet) lookAgain(ctx context.Context) {
	for _, m := range f.addressable() {
		if m != f.Ghost || !f.ghostKept {
			f.serverOf(m).Redial()
		}
	}
	f.look(ctx)
}

// look asks all servers at once. Their answers are of different moments: code that compares offsets must ask again.
func (f *fleet) look(ctx context.Context) {
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

func (r *Reconciler) nodeFromPod(pod *corev1.Pod, set *appsv1.StatefulSet) topology.Node {
	m := topology.Node{
		Name:            pod.Name,
		PodUID:          pod.UID,
		Address:         pod.Status.PodIP,
		RestartSettings: pod.Annotations[annotationConfig],
		Deleting:        !pod.DeletionTimestamp.IsZero(),
		Outdated:        converge.IsOutdated(pod, set),
	}
	if m.Deleting {
		// The timestamp is the end of the grace.
		asked := pod.DeletionTimestamp.Add(-time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second)
		m.DeletingFor = r.clock.Since(asked)
	}
	for _, c := range pod.Status.Conditions {
		switch {
		case c.Type != corev1.PodReady:
		case c.Status == corev1.ConditionTrue:
			m.EndpointChanging = r.isWithin(c.LastTransitionTime.Time, topology.ReadySettleTime)
		default:
			m.EndpointChanging = r.isWithin(pod.CreationTimestamp.Time, topology.NewPodGrace)
		}
	}
	for _, c := range pod.Spec.Containers {
		if c.Name == appName {
			m.MemoryLimit = parts.Bytes(*c.Resources.Limits.Memory())
		}
	}
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name == appName {
			m.Stopped = c.State.Terminated != nil || c.State.Waiting != nil && c.LastTerminationState.Terminated != nil
		}
	}
	return m
}

// isWithin reports whether then is less than limit before or after now. It is by another machine's clock: one that is
// ahead must hold nothing up for longer than limit.
func (r *Reconciler) isWithin(then time.Time, limit time.Duration) bool {
	age := r.clock.Since(then)
	return -limit < age && age < limit
}
