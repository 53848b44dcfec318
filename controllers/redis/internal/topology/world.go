package topology

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// World is what one pass saw, read once.
type World struct {
	Nodes []Node // pods, by ordinal
	// Volumes by node, also of nodes that are not there; none without storage.
	Volumes map[string]Volume
	// GrowthRefusal is why a volume may not grow, in the server's words.
	GrowthRefusal string
	// Ghost is the recorded master when its pod object is gone: its process may still serve.
	Ghost *Node
	// Source is what a backup is loaded from; nil while it has no pod.
	Source *Source
	// FencedFor is how long all replicas that answer have followed no server.
	FencedFor time.Duration
	// CutOffFor is how long the recorded master has been without the replicas that it needs, though
	// they follow it and can be asked.
	CutOffFor time.Duration
	// CertificateFile is the file of the published certificate; empty without TLS.
	CertificateFile string
	// Settings are what servers start with.
	Settings config.Settings
	// RenewingLogins says that replicas need another login at their master, as the password that it is derived from has changed.
	RenewingLogins bool
	// SinceRouted is how long ago the Service was last pointed elsewhere.
	SinceRouted time.Duration
}

// Node is one pod and the server in it.
type Node struct {
	Name    string
	PodUID  types.UID
	Address string
	wire.View

	NotStarted       bool          // its container waits for its first start, or its pod has no node yet
	Stopped          bool          // its container is reported as terminated
	WasSilent        bool          // it did not answer the last pass
	Unasked          bool          // no pod has its address any more, and no connection to it is left: nothing is sent there
	OthersRemain     bool          // other operators' connections to it could not be closed: it counts as silent for this pass
	SilentFor        time.Duration // it has not answered for so long
	ErroringSince    time.Time     // it has answered with errors only, such as BUSY, since; zero if it does not
	ErroringFor      time.Duration // the same, as a duration
	Deleting         bool          // its pod is asked to go
	DeletingFor      time.Duration // since then
	EndpointChanging bool          // its pod became ready a moment ago or is about to, which keeps kube-proxy busy
	Outdated         bool          // its pod is not of the StatefulSet's latest template
	PasswordsUnknown bool          // it may not accept yet what the Secrets say
	PasswordsUnsent  bool          // this operator has not sent it any passwords yet, and it runs since before this operator
	RefusesPasswords bool          // it was sent other passwords, and refuses them
	SentCommands                   // what this operator has sent it

	MemoryLimit     int64             // memory that its container may have, 0 for none
	RestartSettings string            // those that its pod was made for (config.Spec.RestartSettings)
	SettingsUnknown bool              // it may run with other settings than the spec has
	RefusedSettings map[string]string // directives that it will not take, with its words
	SnapshotTaken   bool              // it has taken the snapshot that it was asked for
}

// SentCommands is what this operator has sent one process.
type SentCommands struct {
	OthersKilled bool // it was asked to close the connections of all other operators
	LoginSent    bool // it was sent its login as a replica
	// LinkedAt is when it was last linked to its master, or was sent the login.
	LinkedAt time.Time
}

// IsProcess reports whether this is the very process that was recorded, and answers.
func (n Node) IsProcess(p cachev1alpha1.RedisProcess) bool {
	return n.Answer == wire.Reached && n.PodUID == p.PodUID && n.RunID == p.RunID
}

// Process is how the record names this process.
func (n Node) Process() cachev1alpha1.RedisProcess {
	return cachev1alpha1.RedisProcess{Name: n.Name, PodUID: n.PodUID, Address: n.Address, RunID: n.RunID}
}

// IsRecorded reports whether the record names the pod, as that of the master or of a member of the sync set.
func IsRecorded(rep *cachev1alpha1.RedisReplication, pod types.UID) bool {
	return rep != nil && (rep.Master.PodUID == pod ||
		slices.ContainsFunc(rep.SyncSet, func(p cachev1alpha1.RedisProcess) bool { return p.PodUID == pod }))
}

// InSync reports whether a node hears that master's stream and shares its history.
func (n Node) InSync(master Node) bool {
	return n.Follows(master.Address) && n.LinkUp && !n.Loading && n.ReplID == master.ReplID
}

// hasHistory reports whether the process has ever had a write of the record's history: until
// then it has confirmed none.
func (n Node) hasHistory(rep *cachev1alpha1.RedisReplication) bool {
	offset, has := n.OffsetIn(rep.ReplID)
	return has && offset >= rep.StartOffset
}

// hasAllData reports whether a process has all that there was when the record's history started, or when a process
// last left the record: one that has less may lack what was confirmed before. One that has exactly what this
// history started with, still under the former one, lacks only writes of this one; isSafe counts whether those can
// be confirmed.
func (n Node) hasAllData(rep *cachev1alpha1.RedisReplication) bool {
	if n.ReplID == rep.ReplID {
		return n.Offset >= rep.StartOffset
	}
	return rep.FormerReplID != "" && n.ReplID == rep.FormerReplID && n.Offset == rep.StartOffset
}

// Answers reports whether a server can be sent commands.
func (n Node) Answers() bool { return n.Answer == wire.Reached && !n.Loading }

// IsLockedOut reports whether a server of ours does not know our password.
func (n Node) IsLockedOut() bool { return n.Answer == wire.AuthFailed && !n.Stopped && !n.Deleting }

// IsBusy reports whether a server is kept from answering by a script, a function or a module.
func (n Node) IsBusy() bool { return n.Answer == wire.ErrorReply && n.ErrorCode == wire.Busy }

// IsUnconfirmed reports whether a server could not be asked because the API server did not confirm its address in time.
func (n Node) IsUnconfirmed() bool { return n.Answer == wire.Unconfirmed }

// HasOldPasswords reports whether a server can be sent the passwords to accept and was not.
func (n Node) HasOldPasswords() bool { return n.Answers() && n.PasswordsUnknown }

// Find returns the node of that name, and whether there is one.
func (w World) Find(name string) (Node, bool) {
	i := slices.IndexFunc(w.Nodes, func(m Node) bool { return m.Name == name })
	if i < 0 {
		return Node{Name: name}, false
	}
	return w.Nodes[i], true
}

// RecordedMaster finds the recorded master: in its pod, or as a ghost without one.
func (w World) RecordedMaster(p cachev1alpha1.RedisProcess) Node {
	if w.Ghost != nil && w.Ghost.PodUID == p.PodUID {
		return *w.Ghost
	}
	m, _ := w.Find(p.Name)
	return m
}

// Where gives the nodes that the test holds for, in order.
func (w World) Where(matches func(Node) bool) []Node {
	var found []Node
	for _, m := range w.Nodes {
		if matches(m) {
			found = append(found, m)
		}
	}
	return found
}

// Count counts the nodes that the test holds for.
func (w World) Count(matches func(Node) bool) int {
	n := 0
	for _, m := range w.Nodes {
		n += boolToInt(matches(m))
	}
	return n
}

// NamesOf are the names of these nodes, in their order.
func NamesOf(nodes []Node) []string {
	list := make([]string, 0, len(nodes))
	for _, m := range nodes {
		list = append(list, m.Name)
	}
	return list
}
