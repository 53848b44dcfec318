// Package fleet has the servers of one Redis: it looks at them, and carries the planned step out.
//
// Look (look.go) asks all servers at once. topology.Plan decides by what they answer. Act (act.go) makes sure that only one
// operator acts, and finds the act of the step; act_failover.go and the other act_*.go command the servers and save the record.
//
// Commands to servers, and the writes that decide about the master, go through a server's connection or Effects. Events and the
// confirmation of an address do not.
package fleet

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// Operator is what the fleets of all objects share.
type Operator struct {
	*converge.Converger
	Clock    clock.PassiveClock
	Watching *Watching
}

// Fleet is the servers of one Redis in one pass: what is known of them, and the connections to them.
type Fleet struct {
	// Redis is the object. Its status changes while the fleet acts.
	Redis *cachev1alpha1.Redis
	// Spec is what is asked for, with its defaults. Look adds what follows from the settings.
	Spec config.Spec
	// World is what was seen. The caller fills in the volumes and the pod that serves a backup; Look fills in the rest.
	topology.World
	// Set is the StatefulSet, empty if there is none.
	Set *appsv1.StatefulSet
	// Pods are the nodes' pods.
	Pods []corev1.Pod
	// Credentials are those with which the servers are asked.
	Credentials config.Credentials
	// Certificates are those that the servers were given, and are to be given.
	Certificates config.Certificates

	operator *Operator
	memory   *Memory
	effects  Effects

	servers      map[string]server // by pod name
	ghostServer  server            // of the recorded master, when its pod is gone
	ghostKept    bool              // the ghost is asked over the connection of an earlier pass, because no new one may be made
	keeps        server            // that the next pass may need
	sourceServer server            // that serves a backup
}

// New returns the fleet of an object of which nothing was read yet.
func New(operator *Operator, redis *cachev1alpha1.Redis, memory *Memory, effects Effects) *Fleet {
	return &Fleet{Redis: redis, Spec: config.Resolve(redis), operator: operator, memory: memory, effects: effects,
		servers: map[string]server{}}
}

// Situation is what the next decision is made from.
func (f *Fleet) Situation() topology.Situation {
	return topology.Situation{Spec: f.Spec, Status: &f.Redis.Status, World: f.World}
}

// masterServer returns the connection to the recorded master.
func (f *Fleet) masterServer() server {
	process := f.Redis.Status.Replication.Master
	if f.Ghost != nil && f.Ghost.PodUID == process.PodUID {
		return f.ghostServer
	}
	return f.servers[process.Name]
}

// masterAddress returns the address of the recorded master, "" if there is none.
func (f *Fleet) masterAddress() string {
	if rep := f.Redis.Status.Replication; rep != nil {
		return f.RecordedMaster(rep.Master).Address
	}
	return ""
}

// addresses returns those of all servers that could be asked.
func (f *Fleet) addresses() []string {
	var list []string
	for _, m := range f.addressable() {
		list = append(list, m.Address)
	}
	return list
}

// serverOf returns the connection to that node.
func (f *Fleet) serverOf(m *topology.Node) server {
	switch {
	case m == f.Ghost:
		return f.ghostServer
	case f.Source != nil && m == &f.Source.Node:
		return f.sourceServer
	}
	return f.servers[m.Name]
}

// addressable returns the nodes that have an address, the ghost, and what a backup is loaded from.
func (f *Fleet) addressable() []*topology.Node {
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

func (f *Fleet) microNow() *metav1.MicroTime {
	return ptr.To(metav1.NewMicroTime(f.operator.Clock.Now()))
}
