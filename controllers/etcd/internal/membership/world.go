package membership

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/launcher/wal"
)

// World is what one pass saw, read once.
type World struct {
	Members []Member // by ordinal: recorded, listed by etcd, or with a pod
	// Listed reports whether etcd's own list of members was read, which takes a quorum.
	Listed bool
	// ClusterID of the members that answer; 0 if none does.
	ClusterID uint64
	// Other is what a server in a member's pod says of itself that is of another cluster than the recorded one, of several the one
	// with the latest revision; the zero View if there is none.
	Other View
	// Alarms that are raised, of members and of those that are members no more.
	Alarms []Alarm
	// CompactedLately: old revisions were dropped within CompactionPause.
	CompactedLately bool
	// Claims are those of the members, former ones included, sorted by name. FormerPods are the names of pods of a former object of this
	// name that may still run; it is empty while there is a record.
	Claims     []Claim
	FormerPods []string
	// Fetch is the pod of the backup that the cluster starts with, and Next that of the EtcdRestore that may start. Strays are those
	// that are not needed any more.
	Fetch, Next Fetch
	Strays      []Fetch
	// Request is the EtcdRestore that may start; nil if there is none.
	Request *Request
	// Backups are the EtcdBackups in the cluster's namespace, by name.
	Backups []Backup
	// Access is who may log in, with spec.auth.
	Access Access
	// UnknownMembers are members in etcd's list whose peer URL is none of ours.
	UnknownMembers []ListedMember
}

// Member is one place of the cluster: what the record says of it, what etcd says, and its pod.
type Member struct {
	Name   string
	Record *databasev1alpha1.EtcdRecordedMember // nil if it is not recorded
	Listed *ListedMember                        // nil if etcd does not list it, or no member could be asked
	Pod    Pod
	View   View
	// DefragmentedLately: this operator has asked it for a defragmentation within DefragPause.
	DefragmentedLately bool
}

// ListedMember is a member in etcd's own list.
type ListedMember struct {
	ID        uint64
	Name      string // empty until it has started
	PeerURL   string
	IsLearner bool
}

// Pod is the pod of a member; the zero Pod is none.
type Pod struct {
	UID       types.UID
	Container string // its present or last one, as its ID
	Address   string
	Image     string // that its server runs from
	Permit    string // what was written on it when it could start; empty until then
	LostData  string // data directory that its permit names, and that it has not found
	// Earlier is where the log in that directory ends, if the directory is there, and is an earlier state; else nil.
	Earlier  *wal.End
	DiskSize int64  // of its volume, or of what it may have on its node's disk, in bytes; 0 if it is not known
	Quota    int64  // of data, in bytes, that its server is started with; 0 if it is not known
	Unusable string // why it could not start with the backup that its permit names
	Foreign  string // data of another cluster, next to which it has not started
	// RecoveredTo is the revision at which the recovery that its permit names has ended, if that is below the one allowed; else 0.
	RecoveredTo int64
	Ready       bool // the kubelet's probe finds that it answers reads, and is no learner
	HasRun      bool // its container has been started
	// NeverRan: it is proven that its container was never started. HasRun false alone may be a node's silence.
	NeverRan bool
	// Fails: Kubernetes reports why it cannot start. That its image is being pulled is no such report.
	Fails    bool
	Stopped  bool // its container does not run now
	Deleting bool
	Outdated bool      // it is not of the StatefulSet's latest template
	ClaimUID types.UID // of the claim of its volume; empty without storage
	// ClaimGoes: the claim is deleted as soon as no pod uses it, and the data with it.
	ClaimGoes bool
}

// Alarm is one that a member has raised.
type Alarm struct {
	ID   uint64 // of the member
	Type string
}

// View is what a server says of itself; the zero View is of one that did not answer.
type View struct {
	Answered       bool
	Waits          bool // it has not answered, as it has seen no majority since its start; only ID, versions, Index and Revision are known
	LockedOut      bool // it has not answered, as it does not take the operator's token
	ID, ClusterID  uint64
	Leader         uint64 // ID of the leader that it knows; 0 for none
	IsLearner      bool
	Version        Version
	ClusterVersion string // minor version that it uses by agreement
	Term, Index    uint64 // of raft: the last entry that it knows to be committed
	Applied        uint64 // the last entry that it has applied
	Revision       int64  // of the keys
	HasAlarms      bool   // it knows of alarms, its own or others'
	DBSize, DBUsed int64  // bytes of its database on disk, and those of them that hold data
	Data           DataHash
	Quota          int64 // of data, in bytes, that the server runs with; 0 if it does not say
	Alarms         []string
}

// quota is the one that the member's server runs with, in bytes; 0 if it is not known. The arguments of the pod have it where the server
// does not report it: etcd 3.5, and a silent one.
func (m Member) quota() int64 { return cmp.Or(m.View.Quota, m.Pod.Quota) }

// IsHealthy reports whether a member answers and knows the leader.
func (m Member) IsHealthy() bool {
	return m.View.Answered && m.View.Leader != 0
}

// IsOfServer reports whether a server was heard: it runs, whatever the kubelet has reported last.
func (v View) IsOfServer() bool { return v.Answered || v.Waits || v.LockedOut }

// MayAnswer reports whether a view can be that of the recorded member, or of one that the record does not have yet or any more.
func (m Member) MayAnswer(view View, record *databasev1alpha1.EtcdMembership) bool {
	if view.Waits { // it names no cluster, and the ID follows from the cluster
		isNamed := m.Record != nil && (m.Record.ID == FormatID(view.ID) || m.Record.ID == "" && record.ClusterID == "")
		return isNamed && !m.IsOfFormerMember() && (view.Index > 0 || !m.countedInRecord()) // a voter has entries, and is yet to read them
	}
	if !view.Answered || record == nil {
		return view.Answered
	}
	former := m.Record == nil || m.IsOfFormerMember()
	return !IsOfAnotherCluster(view, record) && (former || m.Record.ID == "" || m.Record.ID == FormatID(view.ID))
}

// IsOfAnotherCluster reports whether a server answers as one of another cluster than the recorded one.
func IsOfAnotherCluster(view View, record *databasev1alpha1.EtcdMembership) bool {
	return view.Answered && record != nil && record.ClusterID != "" && record.ClusterID != FormatID(view.ClusterID)
}

// CurrentID is the member's recorded ID, else that in etcd's list, as FormatID writes it.
func (m Member) CurrentID() string {
	if m.Record != nil {
		return m.Record.ID
	}
	return FormatID(m.Listed.ID)
}

// IsVoter reports whether etcd counts the member for its majority.
func (m Member) IsVoter() bool { return m.Listed != nil && !m.Listed.IsLearner }

// IsLearner reports whether the member is still to be promoted.
func (m Member) IsLearner() bool { return m.Listed != nil && m.Listed.IsLearner }

// IsLeader reports whether the member leads, by its own word.
func (m Member) IsLeader() bool {
	return m.View.Answered && m.View.ID != 0 && m.View.ID == m.View.Leader
}

// The names of etcd's alarms.
const (
	AlarmNoSpace = "NOSPACE"
	AlarmCorrupt = "CORRUPT"
)

// FormatID writes an ID as etcdctl does.
func FormatID(id uint64) string { return strconv.FormatUint(id, 16) }

// ParseID reads what FormatID wrote.
func ParseID(text string) (uint64, error) { return strconv.ParseUint(text, 16, 64) }

// Ordinal is the number at the end of a member's name, -1 if there is none.
func Ordinal(name string) int32 {
	at := strings.LastIndexByte(name, '-')
	n, err := strconv.ParseInt(name[at+1:], 10, 32)
	if err != nil || at < 0 {
		return -1
	}
	return int32(n)
}

// Find returns the member of that name, and whether there is one.
func (w World) Find(name string) (Member, bool) {
	i := slices.IndexFunc(w.Members, func(m Member) bool { return m.Name == name })
	if i < 0 {
		return Member{Name: name}, false
	}
	return w.Members[i], true
}

// SortMembers sorts the members by ordinal.
func (w *World) SortMembers() {
	slices.SortFunc(w.Members, func(a, b Member) int { return int(Ordinal(a.Name) - Ordinal(b.Name)) })
}

// Where gives the members that the test holds for, in order.
func (w World) Where(holds func(Member) bool) []Member {
	var found []Member
	for _, m := range w.Members {
		if holds(m) {
			found = append(found, m)
		}
	}
	return found
}

// Leader returns the member that leads, and whether one does.
func (w World) Leader() (Member, bool) {
	leaders := w.Where(Member.IsLeader)
	if len(leaders) == 0 {
		return Member{}, false
	}
	// After a split, two may believe it: the later term is right.
	return slices.MaxFunc(leaders, func(a, b Member) int { return int(int64(a.View.Term) - int64(b.View.Term)) }), true
}

// NamesOf are the names of these members, in their order.
func NamesOf(members []Member) []string {
	list := make([]string, 0, len(members))
	for _, m := range members {
		list = append(list, m.Name)
	}
	return list
}
