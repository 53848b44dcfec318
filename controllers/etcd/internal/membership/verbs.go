package membership

import (
	"maps"
	"slices"
)

// Verb is what a step does.
type Verb string

// What a step can do.
const (
	Idle                Verb = "Idle"                // nothing to do
	Wait                Verb = "Wait"                // let what is under way continue
	Block               Verb = "Block"               // ask a human
	Form                Verb = "Form"                // save who forms the cluster
	ReuseVolumes        Verb = "ReuseVolumes"        // save who the members are, as the claims of a former object of this name say
	StartMember         Verb = "StartMember"         // save which pod starts with an empty data directory
	RecordIDs           Verb = "RecordIDs"           // save the IDs that the members gave themselves when they met, and who was seen to run
	AdoptMember         Verb = "AdoptMember"         // save a member as it runs
	WithdrawChange      Verb = "WithdrawChange"      // save that a change of the members is not to be made
	ForgetMember        Verb = "ForgetMember"        // save that a member is one no more
	AddMember           Verb = "AddMember"           // save the intent, add a learner, save its ID
	RemoveMember        Verb = "RemoveMember"        // save the intent, remove the member, save that it is gone
	PromoteMember       Verb = "PromoteMember"       // make a learner a voter, if the leader finds that it has caught up
	MoveLeader          Verb = "MoveLeader"          // hand the lead to a voter
	DeletePod           Verb = "DeletePod"           // delete a pod, so that it is recreated
	EvictPod            Verb = "EvictPod"            // the same, if the budget has one to spare: others may drain a node at the same time
	SetVersion          Verb = "SetVersion"          // save which version and image pods are made with from now on
	Compact             Verb = "Compact"             // drop old revisions, and save that it was done
	Defragment          Verb = "Defragment"          // have a member give free pages back to the disk
	Disarm              Verb = "Disarm"              // take an alarm back
	Recover             Verb = "Recover"             // save that the cluster continues from the data of one member, and which are given up
	EndRecovery         Verb = "EndRecovery"         // save that it does, as a cluster of one
	CreateFetchPod      Verb = "CreateFetchPod"      // make the pod that fetches the backup which the cluster starts with
	DeleteFetchPod      Verb = "DeleteFetchPod"      // delete that pod
	StartRestore        Verb = "StartRestore"        // save that a backup takes the place of all data
	EndRestore          Verb = "EndRestore"          // delete that pod, and save that the first member has started with the backup
	CreateUpgradeBackup Verb = "CreateUpgradeBackup" // make the EtcdBackup that must be complete before the next minor version
	DeleteUpgradeBackup Verb = "DeleteUpgradeBackup" // delete the EtcdBackup that was made before an upgrade
	LimitLog            Verb = "LimitLog"            // save up to which entry the logs must be dropped before the next version reads them
	AddRole             Verb = "AddRole"             // make the applications' role
	SetUser             Verb = "SetUser"             // have etcd let a user in
	DropUser            Verb = "DropUser"            // delete a user
	RequireLogin        Verb = "RequireLogin"        // have etcd serve no client that has not logged in
	RecordLogin         Verb = "RecordLogin"         // save that it does, and which user of the applications is published
	WriteEntries        Verb = "WriteEntries"        // write entries without effect, until every member has dropped those
)

// acts reports whether a step with the verb does anything.
func (v Verb) acts() bool { return v != Idle && v != Wait && v != Block }

// ActingVerbs are the verbs of steps that do something.
func ActingVerbs() []Verb {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(verbs)), func(v Verb) bool { return !v.acts() })
}

// traits are what all steps with a verb have in common.
type traits struct {
	// phrase says to people what the step does, before the member; empty for a step that does nothing.
	phrase string
	// isRollout says that what was asked for is not everywhere yet while this is the next step. Maintenance leaves that as it is, as
	// does another password, and Block is reported by itself.
	isRollout bool
	// changes says that the step changes what is decided next, so that another pass is due at once.
	changes bool
	// removesPod says that a pod goes by the step.
	removesPod bool
	// takesAway says that it removes something that is there, and does so, at least at times, before it saves the record.
	takesAway bool
}

// verbs has a row for each verb.
var verbs = map[Verb]traits{
	Idle:                {},
	Wait:                {isRollout: true},
	Block:               {},
	Form:                {phrase: "forming the cluster", isRollout: true, changes: true},
	ReuseVolumes:        {phrase: "reusing the volumes of a former EtcdCluster of this name", isRollout: true, changes: true},
	StartMember:         {phrase: "starting", isRollout: true, changes: true},
	RecordIDs:           {phrase: "recording the members' IDs", isRollout: true, changes: true},
	AdoptMember:         {phrase: "recording", isRollout: true, changes: true},
	WithdrawChange:      {phrase: "withdrawing the change of", isRollout: true, changes: true},
	ForgetMember:        {phrase: "taking off the record", isRollout: true, changes: true},
	AddMember:           {phrase: "adding", isRollout: true, changes: true},
	RemoveMember:        {phrase: "removing", isRollout: true, changes: true, takesAway: true},
	PromoteMember:       {phrase: "making a voter of", isRollout: true, changes: true},
	MoveLeader:          {phrase: "moving the lead from", changes: true},
	DeletePod:           {phrase: "deleting the pod of", isRollout: true, removesPod: true, takesAway: true},
	EvictPod:            {phrase: "evicting the pod of", isRollout: true, removesPod: true, takesAway: true},
	SetVersion:          {phrase: "making pods", isRollout: true, changes: true},
	Compact:             {phrase: "compacting old revisions at", changes: true},
	Defragment:          {phrase: "defragmenting", changes: true},
	Disarm:              {phrase: "taking an alarm back", changes: true},
	Recover:             {phrase: "recovering from the data of", isRollout: true, changes: true},
	EndRecovery:         {phrase: "ending the recovery of", isRollout: true, changes: true},
	CreateFetchPod:      {phrase: "fetching the backup", isRollout: true},
	DeleteFetchPod:      {phrase: "deleting the pod of the backup", isRollout: true, takesAway: true},
	StartRestore:        {phrase: "starting the restore", isRollout: true, changes: true},
	EndRestore:          {phrase: "ending the restore", isRollout: true, changes: true, takesAway: true},
	CreateUpgradeBackup: {phrase: "making EtcdBackup", isRollout: true},
	DeleteUpgradeBackup: {phrase: "deleting EtcdBackup", takesAway: true},
	LimitLog:            {phrase: "marking old entries of the logs", isRollout: true, changes: true},
	AddRole:             {phrase: "making", changes: true},
	SetUser:             {phrase: "letting in user", changes: true},
	DropUser:            {phrase: "deleting user", changes: true, takesAway: true},
	RequireLogin:        {phrase: "requiring a login", changes: true},
	RecordLogin:         {phrase: "recording who may log in", changes: true},
	WriteEntries:        {phrase: "writing entries to the logs", isRollout: true, changes: true},
}
