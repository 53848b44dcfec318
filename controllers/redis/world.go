package redis

import (
	"slices"
	"time"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
	"k8s.io/apimachinery/pkg/types"
)

// world is what one pass saw, read once.
type world struct {
	members []member // pods, by ordinal
	// volumes by node, also of nodes that are not there; none without storage.
	volumes map[string]volume
	// growthRefusal is why a volume may not grow, in the server's words.
	growthRefusal string
	// ghost is the recorded master when its pod object is gone: its process may still serve.
	ghost *member
	// frozenFor is how long all replicas that answer have followed nobody.
	frozenFor time.Duration
	// cutOffFor is how long the master of record has been without the replicas that it needs, though
	// they follow it and can be asked.
	cutOffFor time.Duration
	// certificateFile is the file of the published certificate; empty without TLS.
	certificateFile string
	// settings are what servers start with.
	settings settings
	// sinceRouted is how long ago the Service was last pointed elsewhere.
	sinceRouted time.Duration
}

// member is one pod and the server in it.
type member struct {
	name    string
	podUID  types.UID
	address string
	wire.View

	stopped          bool          // its container is reported as terminated
	wasSilent        bool          // it did not answer the last pass
	notOurs          bool          // other operators' connections to it could not be closed: it counts as silent for this pass
	silentFor        time.Duration // it has not answered for so long
	deleting         bool          // its pod is asked to go
	deletingFor      time.Duration // since then
	endpointChanging bool          // its pod became ready a moment ago or is about to, which keeps kube-proxy busy
	outdated         bool          // its pod is not of the StatefulSet's latest template
	passwordsUnknown bool          // it may not accept yet what the Secrets say
	refusesPasswords bool          // it was told to, and refuses
	sentCommands                   // what this operator has told it

	memoryLimit     int64             // memory that its container may have, 0 for none
	configMark      string            // mark of the settings that its pod was made for
	settingsUnknown bool              // it may run with other settings than the spec has
	refusedSettings map[string]string // directives that it will not take, with its words
	snapshotTaken   bool              // it has taken the snapshot that it was asked for
}

// isProcess reports whether this is the very process that was recorded, and answers.
func (m member) isProcess(p cachev1alpha1.RedisProcess) bool {
	return m.Answer == wire.Reached && m.podUID == p.PodUID && m.RunID == p.RunID
}

func (m member) process() cachev1alpha1.RedisProcess {
	return cachev1alpha1.RedisProcess{Name: m.name, PodUID: m.podUID, Address: m.address, RunID: m.RunID}
}

// inSync reports whether a node hears that master's stream and shares its history.
func (m member) inSync(master member) bool {
	return m.Follows(master.address) && m.LinkUp && !m.Loading && m.ReplID == master.ReplID
}

// hasHistory reports whether the process has ever had a write of the record's history: until
// then it has confirmed none.
func (m member) hasHistory(rep *cachev1alpha1.RedisReplication) bool {
	offset, has := m.OffsetIn(rep.ReplID)
	return has && offset >= rep.StartOffset
}

// hasAllData reports whether a process has all that there was when the record's history began, or when a process
// last left the record: one that has less may lack what was confirmed before. One that has exactly what this
// history began with, still under the former one, lacks only writes of this one; isSafe counts whether those can
// be confirmed.
func (m member) hasAllData(rep *cachev1alpha1.RedisReplication) bool {
	if m.ReplID == rep.ReplID {
		return m.Offset >= rep.StartOffset
	}
	return rep.FormerReplID != "" && m.ReplID == rep.FormerReplID && m.Offset == rep.StartOffset
}

// answers reports whether a server can be told what to do.
func (m member) answers() bool { return m.Answer == wire.Reached && !m.Loading }

// isLockedOut reports whether a server of ours does not know our password.
func (m member) isLockedOut() bool { return m.Answer == wire.AuthFailed && !m.stopped && !m.deleting }

// hasOldPasswords reports whether a server can be told which passwords to accept and was not.
func (m member) hasOldPasswords() bool { return m.answers() && m.passwordsUnknown }

func (w world) find(name string) (member, bool) {
	i := slices.IndexFunc(w.members, func(m member) bool { return m.name == name })
	if i < 0 {
		return member{name: name}, false
	}
	return w.members[i], true
}

// recordedMaster finds the master of record: in its pod, or as a ghost without one.
func (w world) recordedMaster(p cachev1alpha1.RedisProcess) member {
	if w.ghost != nil && w.ghost.podUID == p.PodUID {
		return *w.ghost
	}
	m, _ := w.find(p.Name)
	return m
}

// servingMaster gives the recorded master, and reports whether it serves.
func (s situation) servingMaster() (member, bool) {
	if s.Status.Replication == nil {
		return member{}, false
	}
	m := s.recordedMaster(s.Status.Replication.Master)
	return m, m.isProcess(s.Status.Replication.Master) && m.Master
}

// where gives the members that the test holds for, in order.
func (w world) where(holds func(member) bool) []member {
	var found []member
	for _, m := range w.members {
		if holds(m) {
			found = append(found, m)
		}
	}
	return found
}

// count counts the members that the test holds for.
func (w world) count(holds func(member) bool) int {
	n := 0
	for _, m := range w.members {
		n += boolToInt(holds(m))
	}
	return n
}

func namesOf(members []member) []string {
	list := make([]string, 0, len(members))
	for _, m := range members {
		list = append(list, m.name)
	}
	return list
}

// sentCommands is what this operator has told one process.
type sentCommands struct {
	othersKilled bool // it was told to close the connections of all other operators
	loginSent    bool // it was told its login as a replica
	// linkedAt is when it was last linked to its master, or was told the login.
	linkedAt time.Time
}

// marksDelay returns for how long no pod may be marked yet, after clients were led to another master. It is 0 if
// there was no master before, or if the same one is master again: then no route has changed.
func (s situation) marksDelay() time.Duration {
	if last := s.Status.LastFailover; last == nil || last.From == "" || last.From == last.To {
		return 0
	}
	return max(0, oldClientTime-s.sinceRouted)
}
