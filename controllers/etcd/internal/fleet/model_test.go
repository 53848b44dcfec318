package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/launcher"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// model is an etcd cluster with its pods, volumes and the object in the API server, small and exact. What raft guarantees is
// taken for granted: a change of the members or a write is done at once, if a majority of the voters runs, and is then known to
// all that run. What is searched for is an operator that takes the ground away from under these guarantees.
type model struct {
	modelFacts
	Raft    []modelMember // etcd's own list of members; none before they have met
	Fetches []modelFetch
	// Status is shared by all models that follow, until it is saved again: nothing is set in it. SavedStatus is the same as a text.
	Status      *databasev1alpha1.EtcdClusterStatus
	SavedStatus string `json:"-"`
	// Asleep is an operator that was stopped after it had planned, and is yet to wake.
	Asleep *sleeper
	// Cache is what the operator's caches have; nil if they are up to date.
	Cache *modelCache `json:",omitempty"`
	// Saved is what the API server may be put back to.
	Saved *model `json:"-"`
	// passCalls are one more than the calls of a complete pass from here on; 0 if none was played.
	passCalls int
	// violation is the promise that was broken on the way here.
	violation error
}

// modelFacts are the part of a model that can be copied and compared.
type modelFacts struct {
	modelKubernetes
	modelSpace
	modelPower
	modelDisks
	Size    int32
	Storage bool
	Version int // of the object: each save raises it
	// Replicas of the StatefulSet.
	Replicas int32
	Pods     [membership.MaxSize]modelPod // by ordinal; without a UID there is none
	Volumes  [membership.MaxSize]modelData
	Claims   [membership.MaxSize]int // of the volumes, by ordinal: how many there were before
	Token    string                  // of the cluster that they form; an earlier one has no majority
	Lead     uint64                  // the member to whom the lead was moved last
	Writes   int                     // that were confirmed
	IDs      int                     // that were given to members and data directories
	PodUIDs  [membership.MaxSize]int // that were given to pods, by ordinal
	Crashes  int                     // of the operator that may yet come
	Faults   int                     // that may yet come
	Drains   int                     // of nodes that may yet come: each takes a pod, if the budget spares one
	Humans   int                     // who may yet allow a recovery
	Allowed  string                  // the token that one has allowed
	// Recovered is the recovery after which a server served.
	Recovered string
	// Held is how many writes are never lost: those of the member that a recovery continued from.
	Held int
	// Backup is how many writes the backup has that the cluster starts with; 0 if it starts with none. Fetches are its pods.
	Backup    int
	Bootstrap bool
	// Request is an EtcdRestore that may start; empty if there is none.
	Request string
	// Minor versions, counted from 3.6 on: the one that is wanted, that of the StatefulSet's template, and the one that the members
	// have agreed on.
	Wanted, Template, Agreed int
	// NextMissing: the image of the next minor version cannot be pulled. RolledBack: an upgrade was rolled back.
	NextMissing, RolledBack bool
	// Scheduled: there is a backup by a schedule. Upgrade is the one before the upgrade, and BackedUp reports whether one was complete
	// since an upgrade was last rolled back.
	Scheduled, BackedUp bool
	Upgrade             modelBackup
	// Broken is what is wrong with the spec now, Mistake what somebody may yet write into it so many times; 0 is nothing.
	Broken, Mistake, Edits int
	// TemplateBroken is what is wrong with the StatefulSet's template.
	TemplateBroken int
	// OtherSize may yet be asked for, FormerSize once more; 0 is none. MayTakeBack: an edit of the version may be taken back.
	OtherSize, FormerSize int32
	VersionEdits          int
	MayTakeBack           bool
	// Kills are how many servers may yet be killed for memory.
	Kills int
	modelClaims
	// Lags is how often the caches may yet fall behind, PutBacks how often the API server may yet be put back.
	Lags, PutBacks int
}

type modelPod struct {
	UID     string
	Permit  string // what was written on it when it could start
	Runs    bool
	Ran     bool   // its container was started at some time
	Broken  int    // what is wrong with the template that it was made from
	Serves  bool   // it answers clients: it has seen a majority since it runs
	Lost    string // data directory that it has not found
	Earlier uint64 // entry at which the log in that directory ends, if that is an earlier state; else 0
	Foreign string // data of another cluster, next to which it has not started
	Started string // data directory with which it started, empty
	Outdate bool
	Minor   int  // that its server runs
	Kills   int  // of its server, for memory
	Silent  bool // its node does not report: nothing starts there, and it is not known what does
	Former  bool // of an object that was deleted: it is about to be taken away
}

// modelData is what a volume holds: the directory of one member, and what is left there of others.
type modelData struct {
	Left   modelLeft
	DataID string
	ID     uint64 // the member that the data is of; 0 before it has met the others
	Token  string // of the cluster that it is a member of
	Formed bool   // its log starts with the members that form the cluster
	Writes int    // that it has
	Old    bool   // an earlier copy
	// Restored: the backup is in it, whole.
	Restored bool
	Forced   string // the last recovery in which it was made a cluster of one, if the launcher came to note it
}

type modelMember struct {
	ID      uint64
	Name    string
	Learner bool
	Started bool // it has given the others its name
	// Voted is set once a majority was counted with it: its data must then be found again wherever it runs.
	Voted bool
}

// sleeper is a pass that was stopped between its plan and its act.
type sleeper struct {
	Step    membership.Step
	World   membership.World             // that it saw
	Pods    [membership.MaxSize]modelPod // likewise
	Spec    membership.Spec
	Status  databasev1alpha1.EtcdClusterStatus
	Version int
	text    string // distinguishes it from others
}

// broken says which promise an order of events has broken.
type broken string

func (b broken) Error() string { return string(b) }

func newModel(size int32, storage bool) *model {
	m := &model{}
	m.Size, m.Storage = size, storage
	m.setStatus(&databasev1alpha1.EtcdClusterStatus{})
	return m
}

func (m *model) clone() *model { return m.cloneInto(nil) }

// cloneInto returns a copy, which uses up another model to which nothing refers.
func (m *model) cloneInto(spare *model) *model {
	if spare == nil {
		spare = &model{}
	}
	raft, fetches := spare.Raft[:0], spare.Fetches[:0]
	*spare = *m
	spare.Raft, spare.Fetches = append(raft, m.Raft...), append(fetches, m.Fetches...)
	return spare
}

func (m *model) setStatus(status *databasev1alpha1.EtcdClusterStatus) {
	m.Status, m.SavedStatus = status, asText(status)
}

// object is the EtcdCluster as a pass reads it.
func (m *model) object() *databasev1alpha1.EtcdCluster {
	return &databasev1alpha1.EtcdCluster{Status: *m.cachedObject().Status.DeepCopy()}
}

var keySeed = maphash.MakeSeed()

// key distinguishes two models.
func (m *model) key() uint64 {
	var h maphash.Hash
	h.SetSeed(keySeed)
	maphash.WriteComparable(&h, m.modelFacts)
	maphash.WriteComparable(&h, [2]int{len(m.Raft), len(m.Fetches)})
	for _, member := range m.Raft {
		maphash.WriteComparable(&h, member)
	}
	for _, fetch := range m.Fetches {
		maphash.WriteComparable(&h, fetch)
	}
	maphash.WriteComparable(&h, m.SavedStatus)
	if m.Asleep != nil {
		maphash.WriteComparable(&h, m.Asleep.text)
	}
	if m.Cache != nil {
		maphash.WriteComparable(&h, m.Cache.key)
		maphash.WriteComparable(&h, m.Cache.hasObject)
	}
	return h.Sum64()
}

// String is what a report shows.
func (m *model) String() string { return asText(m) }

func asText(v any) string {
	text, _ := json.Marshal(v) // of numbers and texts there is no error
	return string(text)
}

func (m *model) newID() int { m.IDs++; return m.IDs }

// newPodUID differs from those of earlier pods at the same ordinal. Those of others do not count, so that it is the same in whatever
// order pods are made.
func (m *model) newPodUID(i int) string {
	m.PodUIDs[i]++
	return fmt.Sprintf("p%d", m.PodUIDs[i])
}

func (m *model) spec() membership.Spec {
	spec := membership.Spec{Name: "a", Namespace: "ns", Size: m.Size, HasStorage: m.Storage, AllowedRecovery: m.Allowed,
		FromBackup: m.Bootstrap, Wanted: modelVersions[m.Wanted], DefaultImages: modelImages, Quota: int64(m.Quota) << 20}
	if m.Broken == cannotBePulled {
		spec.Image = missingImage
	}
	return spec
}

func (m *model) raft(id uint64) *modelMember {
	for i := range m.Raft {
		if m.Raft[i].ID == id {
			return &m.Raft[i]
		}
	}
	return nil
}

// runs reports whether a server runs at that ordinal which the others take for that member.
func (m *model) runs(ordinal int, id uint64) bool {
	return m.Pods[ordinal].Runs && m.Volumes[ordinal].ID == id
}

func ordinalOf(name string) int { return int(membership.Ordinal(name)) }

// hasQuorum reports whether a majority of the voters runs.
func (m *model) hasQuorum() bool {
	voters, running := 0, 0
	for _, item := range m.Raft {
		if !item.Learner {
			voters++
			if m.runs(ordinalOf(item.Name), item.ID) {
				running++
			}
		}
	}
	return voters > 0 && running > voters/2
}

// write confirms one write, if there is a majority: everybody who runs has it then, and who counts for the majority has voted.
func (m *model) write() bool {
	if !m.hasQuorum() {
		return false
	}
	m.Writes++
	for i := range m.Raft {
		one := &m.Raft[i]
		if m.runs(ordinalOf(one.Name), one.ID) {
			m.Volumes[ordinalOf(one.Name)].Writes = m.Writes
			one.Voted = one.Voted || !one.Learner
		}
	}
	return true
}

// check returns which promise is broken.
func (m *model) check() error {
	for _, item := range m.Raft {
		v := m.Volumes[ordinalOf(item.Name)]
		if item.Voted && m.runs(ordinalOf(item.Name), item.ID) && v.Writes == 0 && m.Writes > 0 {
			return broken(item.Name + " runs under an ID that has voted, without its data")
		}
	}
	if err := m.checkDisks(); err != nil {
		return err
	}
	if m.held() < m.Held {
		return broken("writes are lost that the member had from which the cluster continued")
	}
	if err := errors.Join(m.checkBackedUp(), m.checkVersions(), m.checkSpace()); err != nil {
		return err
	}
	learners := 0
	for _, item := range m.Raft {
		if item.Learner {
			learners++
		}
	}
	if learners > 1 {
		return broken("two members are being added at once")
	}
	return nil
}

// startServer starts the server in a pod, as the launcher does: on the data that the permit allows.
func (m *model) startServer(i int) error {
	p, v := &m.Pods[i], &m.Volumes[i]
	var permit launcher.Permit
	if err := json.Unmarshal([]byte(p.Permit), &permit); err != nil {
		return err
	}
	if permit.Pod != p.UID || p.Silent {
		return nil
	}
	if fails, err := m.failToStart(i); fails || err != nil {
		return err
	}
	if ready, err := m.prepare(i); !ready || err != nil {
		return err
	}
	p.Ran, p.Lost, p.Foreign, p.Earlier = true, "", "", 0
	if permit.Force != "" {
		if below, err := m.endsBelow(i, permit); below || err != nil {
			return err
		}
		p.Runs = true
		if err := m.force(i, permit.Force); err != nil {
			return err
		}
		v.Forced, m.Recovered = permit.Force, permit.Force
	}
	p.Runs = true
	if v.ID != 0 {
		if one := m.raft(v.ID); one == nil && v.Token == m.Token { // it learns that it was removed, and ends
			p.Runs = false
		}
		return nil
	}
	return m.meet(i, permit)
}

// prepare does what the launcher does before it becomes etcd, and reports whether it may.
func (m *model) prepare(i int) (bool, error) {
	permit, _ := membership.ParsePermit(m.Pods[i].Permit)
	m.Pods[i].Ran = true
	if has, err := m.checkData(i, permit); !has || err != nil {
		return false, err
	}
	waits, err := m.restore(i, permit)
	return !waits, err
}

// checkData is the launcher's: it reports whether there is the data that the permit allows, and starts an empty directory where that is
// allowed.
func (m *model) checkData(i int, permit launcher.Permit) (bool, error) {
	p, v := &m.Pods[i], &m.Volumes[i]
	switch {
	case v.DataID == permit.Data && (!permit.Ran || v.ID != 0):
		return m.checkLog(i, permit), nil
	case permit.Fresh && !permit.Ran && p.Started != permit.Data:
		if err := m.checkDropped(i, permit); err != nil {
			return false, err
		}
		if starts, err := m.checkForeign(i, permit); !starts || err != nil {
			return false, err
		}
		*v, p.Started = modelData{DataID: permit.Data, Token: permit.Token, Left: v.leftAfter(permit)}, permit.Data
		return true, nil
	}
	p.Lost = permit.Data
	return false, nil
}

// force makes the member with that volume a cluster of one, as a server does that no one reaches, unless it was noted that this
// recovery has done so.
func (m *model) force(i int, recovery string) error {
	v, name := m.Volumes[i], m.spec().MemberName(int32(i)) //nolint:gosec // at most 5
	if v.Forced == recovery {
		return nil
	}
	switch alone := len(m.Raft) == 1 && m.Raft[0].ID == v.ID; {
	case m.Recovered == recovery:
		return broken(name + " is made a cluster of one again, after it has served")
	case alone && v.Old: // a human has allowed what it has
		m.continueFrom(i)
		return nil
	case alone:
		return nil
	case m.raft(v.ID) == nil || m.raft(v.ID).Learner:
		return broken(name + " is made a cluster of one, and is no voter")
	case m.hasMajority():
		return broken(name + " is made a cluster of one, and a majority has its data")
	}
	for _, other := range m.Raft {
		if other.ID != v.ID && m.runs(ordinalOf(other.Name), other.ID) {
			return broken(name + " is made a cluster of one next to " + other.Name)
		}
	}
	m.Raft = []modelMember{*m.raft(v.ID)}
	m.continueFrom(i)
	return nil
}

// continueFrom has the cluster continue from what a volume has.
func (m *model) continueFrom(i int) {
	v := &m.Volumes[i]
	m.Writes, m.Held, v.Old = v.Writes, v.Writes, false
}

// held is how many writes some member has.
func (m *model) held() int {
	held := 0
	for _, item := range m.Raft {
		if m.holds(item) {
			held = max(held, m.Volumes[ordinalOf(item.Name)].Writes)
		}
	}
	return held
}

// holds reports whether a member's volume has what it voted with.
func (m *model) holds(one modelMember) bool {
	v := m.Volumes[ordinalOf(one.Name)]
	return v.ID == one.ID && !v.Old
}

// keepsWrites reports whether a majority of the voters has all writes that were confirmed.
func (m *model) keepsWrites() bool {
	voters, having := 0, 0
	for _, item := range m.Raft {
		if !item.Learner {
			voters++
			if m.holds(item) && m.Volumes[ordinalOf(item.Name)].Writes == m.Writes {
				having++
			}
		}
	}
	return having > voters/2
}

// meet gives a server that has started its ID: when all that form the cluster are there, or when the others have added it.
func (m *model) meet(i int, permit launcher.Permit) error {
	name := m.spec().MemberName(int32(i)) //nolint:gosec // at most 5
	if permit.State == launcher.StateExisting {
		for _, item := range m.Raft {
			if item.Name == name && membership.FormatID(item.ID) == permit.MemberID && !item.Started && len(permit.InitialCluster) == len(m.Raft) {
				m.Volumes[i].ID = item.ID
				m.raft(item.ID).Started = true
				m.Files[i] = m.leadersFile()
				return nil
			}
		}
		m.Pods[i].Runs = false // it waits for the others to wait for it; etcd compares the list that it was given with theirs, and ends
		return nil
	}
	// no one meets the former ones
	if record := m.Status.Membership; permit.Token != m.Token && record != nil && permit.Token == record.Token {
		if err := m.checkFresh(); err != nil {
			return err
		}
		m.Token, m.Raft, m.Writes = permit.Token, nil, m.Volumes[i].Writes // of a backup, if it started with one
	}
	if permit.Token != m.Token {
		return nil
	}
	if len(m.Raft) == 0 { // who forms is fixed by the permits: all get the same IDs from it
		for _, peer := range permit.InitialCluster {
			m.Raft = append(m.Raft, modelMember{ID: uint64(m.newID()), Name: strings.Split(peer, "=")[0]}) //nolint:gosec // small
		}
	}
	for _, item := range m.Raft {
		if item.Name == name {
			m.Volumes[i].ID, m.Volumes[i].Formed = item.ID, true
			m.raft(item.ID).Started = true
		}
	}
	return nil
}
