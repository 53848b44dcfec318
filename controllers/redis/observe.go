package redis

import (
	"context"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/node"
)

// server is one redis-server, to look at and to command.
type server interface {
	Look(ctx context.Context) node.View
	Fence(ctx context.Context) error
	Follow(ctx context.Context, address string) error
	Promote(ctx context.Context, minReplicas int32) error
	SetMinReplicas(ctx context.Context, n int32) error
	Pause(ctx context.Context, d time.Duration) error
	Unpause(ctx context.Context) error
	SendAway(ctx context.Context) error
	Outrank(ctx context.Context) error
	Close()
}

// fleet is the world together with the connections that it was seen by.
type fleet struct {
	world
	servers     map[string]server // by pod name
	ghostServer server            // of the recorded master, when its pod is gone
}

// recorded is the connection to the master of record.
func (f *fleet) recorded(r *cachev1alpha1.Redis) server {
	if f.ghostServer != nil {
		return f.ghostServer
	}
	return f.servers[r.Status.Replication.Master.Name]
}

// addresses of all servers that could be asked.
func (f *fleet) addresses() []string {
	var list []string
	for _, m := range f.members {
		if m.address != "" {
			list = append(list, m.address)
		}
	}
	if f.ghost != nil {
		list = append(list, f.ghost.address)
	}
	return list
}

func (f *fleet) close() {
	for _, s := range f.servers {
		s.Close()
	}
	if f.ghostServer != nil {
		f.ghostServer.Close()
	}
}

// observe looks at every pod and asks every server, all at once.
func (r *Reconciler) observe(ctx context.Context, redis *cachev1alpha1.Redis, pods []corev1.Pod, set *appsv1.StatefulSet, c credentials) *fleet {
	f := &fleet{servers: map[string]server{}}
	for i := range pods {
		m := r.fromPod(&pods[i], set)
		f.members = append(f.members, m)
		if m.address != "" {
			f.servers[m.name] = node.Open(m.address, c.operator)
		}
	}
	slices.SortFunc(f.members, func(a, b member) int { return int(ordinal(a.name) - ordinal(b.name)) })
	if rep := redis.Status.Replication; rep != nil && !slices.ContainsFunc(f.members, func(m member) bool { return m.podUID == rep.Master.PodUID }) {
		p := rep.Master
		f.ghost = &member{name: p.Name, podUID: p.PodUID, address: p.Address}
		f.ghostServer = node.Open(p.Address, c.operator)
	}
	f.look(ctx)

	f.frozenFor = r.memory.frozen(redis, f.world, r.clock)
	f.sinceRouted = goodbyes + 1 // long ago
	if last := redis.Status.LastFailover; last != nil && last.RoutedAt != nil {
		f.sinceRouted = r.clock.Since(last.RoutedAt.Time)
	}
	return f
}

// look asks the servers. What they say first is older than what they say last,
// so whoever compares offsets later asks again.
func (f *fleet) look(ctx context.Context) {
	var all sync.WaitGroup
	for i := range f.members {
		if s := f.servers[f.members[i].name]; s != nil {
			all.Go(func() { f.members[i].View = s.Look(ctx) })
		}
	}
	if f.ghostServer != nil {
		all.Go(func() { f.ghost.View = f.ghostServer.Look(ctx) })
	}
	all.Wait()
}

func (r *Reconciler) fromPod(pod *corev1.Pod, set *appsv1.StatefulSet) member {
	m := member{
		name:     pod.Name,
		podUID:   pod.UID,
		address:  pod.Status.PodIP,
		deleting: !pod.DeletionTimestamp.IsZero(),
		outdated: set.Status.ObservedGeneration == set.Generation && set.Status.UpdateRevision != "" &&
			pod.Labels[appsv1.ControllerRevisionHashLabelKey] != set.Status.UpdateRevision,
	}
	if m.deleting {
		// The timestamp is the end of the grace.
		asked := pod.DeletionTimestamp.Add(-time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second)
		m.deletingFor = r.clock.Since(asked)
	}
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name == kind {
			m.stopped = c.State.Terminated != nil || c.State.Waiting != nil && c.LastTerminationState.Terminated != nil
		}
	}
	return m
}
