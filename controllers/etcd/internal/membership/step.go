package membership

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
)

// Verb is what a step does.
type Verb string

// What a step can do.
const (
	Idle                Verb = "Idle"                // nothing to do
	Wait                Verb = "Wait"                // let what is under way go on
	Block               Verb = "Block"               // ask a human
	Form                Verb = "Form"                // save who forms the cluster
	StartMember         Verb = "StartMember"         // save which pod begins with an empty data directory
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
	Recover             Verb = "Recover"             // save that the cluster goes on from the data of one member, and which are given up
	EndRecovery         Verb = "EndRecovery"         // save that it does, as a cluster of one
	CreateFetchPod      Verb = "CreateFetchPod"      // make the pod that fetches the backup which the cluster begins with
	DeleteFetchPod      Verb = "DeleteFetchPod"      // delete that pod
	BeginRestore        Verb = "BeginRestore"        // save that a backup takes the place of all data
	EndRestore          Verb = "EndRestore"          // delete that pod, and save that the first member has begun with the backup
	CreateUpgradeBackup Verb = "CreateUpgradeBackup" // make the EtcdBackup that must be complete before the next minor version
	DeleteUpgradeBackup Verb = "DeleteUpgradeBackup" // delete the EtcdBackup that was made before an upgrade
	LimitLog            Verb = "LimitLog"            // save up to which entry the logs must be dropped before the next version reads them
	AddRole             Verb = "AddRole"             // make the applications' role
	SetUser             Verb = "SetUser"             // have etcd let a user in
	DropUser            Verb = "DropUser"            // delete a user
	RequireLogin        Verb = "RequireLogin"        // have etcd serve nobody who has not logged in
	RecordLogin         Verb = "RecordLogin"         // save that it does, and which user of the applications is published
	WriteEntries        Verb = "WriteEntries"        // write entries without effect, until every member has dropped those
)

// Step is the one thing that a pass does.
type Step struct {
	Do           Verb
	Member       string                                  // acted on
	Target       string                                  // who leads next, with MoveLeader
	User         string                                  // of etcd, with SetUser and DropUser
	Version      string                                  // with Form and SetVersion
	Image        string                                  // that holds this version
	Alarm        Alarm                                   // with Disarm
	Fetches      bool                                    // the backup is awaited that the cluster begins with: what its pod needs must be there
	Restore      *databasev1alpha1.EtcdMembershipRestore // that the cluster begins with, with Form and BeginRestore; nil for none
	Source       types.UID                               // the EtcdRestore whose backup is fetched; empty for spec.bootstrap
	Backup       string                                  // the EtcdBackup that is made or deleted
	Like         string                                  // the EtcdBackup that says where to and how, with CreateUpgradeBackup
	Lost         []string                                // members that are given up, with Recover; with Form, former members that have no data
	AsSeen       bool                                    // with DeletePod: only if nothing about the pod has changed since it was seen
	Message      string                                  // told to people
	Reason       string                                  // of the condition that reports it, with Block
	RequeueAfter time.Duration                           // when to look again
}

func (s Step) String() string { return fmt.Sprintf("%s %s", s.Do, s.Member) }

// phrases say to people what the steps do, before the member. Idle, Wait and Block do nothing.
var phrases = map[Verb]string{
	Form:                "forming the cluster",
	StartMember:         "starting",
	RecordIDs:           "recording the members' IDs",
	AdoptMember:         "recording",
	WithdrawChange:      "withdrawing the change of",
	ForgetMember:        "taking off the record",
	AddMember:           "adding",
	RemoveMember:        "removing",
	PromoteMember:       "making a voter of",
	MoveLeader:          "moving the lead from",
	DeletePod:           "deleting the pod of",
	EvictPod:            "evicting the pod of",
	SetVersion:          "making pods",
	Compact:             "compacting old revisions at",
	Defragment:          "defragmenting",
	Disarm:              "taking an alarm back",
	Recover:             "recovering from the data of",
	EndRecovery:         "ending the recovery of",
	CreateFetchPod:      "fetching the backup",
	DeleteFetchPod:      "deleting the pod of the backup",
	BeginRestore:        "beginning the restore",
	EndRestore:          "ending the restore",
	CreateUpgradeBackup: "making EtcdBackup",
	DeleteUpgradeBackup: "deleting EtcdBackup",
	LimitLog:            "marking old entries of the logs",
	AddRole:             "making",
	SetUser:             "letting in user",
	DropUser:            "deleting user",
	RequireLogin:        "requiring a login",
	RecordLogin:         "recording who may log in",
	WriteEntries:        "writing entries to the logs",
}

// Phrase says to people what the step does, or waits for, and why.
func (s Step) Phrase() string {
	words := phrases[s.Do]
	if s.Member != "" {
		words += " " + s.Member
	}
	if s.Backup != "" {
		words += fmt.Sprintf(" %q", s.Backup)
	}
	if s.User != "" {
		words += " " + s.User
	}
	if s.Target != "" {
		words += " to " + s.Target
	}
	if s.Version != "" {
		words += fmt.Sprintf(" with version %s (%s)", s.Version, s.Image)
	}
	if words == "" || s.Message == "" {
		return words + s.Message
	}
	return words + ": " + s.Message
}

// IsRollout reports whether what was asked for is not everywhere yet while this is the next step. Maintenance leaves that as it
// is, as does another password, and of Block a human is told.
func (s Step) IsRollout() bool {
	switch s.Do {
	case Idle, Block, MoveLeader, Compact, Defragment, Disarm, DeleteUpgradeBackup, AddRole, SetUser, DropUser, RequireLogin, RecordLogin:
		return false
	}
	return true
}

// RemovesPod reports whether a pod goes by the step.
func (s Step) RemovesPod() bool { return s.Do == DeletePod || s.Do == EvictPod }

// Changes reports whether the step changes what is decided next, so that another pass is due at once.
func (s Step) Changes() bool {
	switch s.Do {
	case Idle, Wait, Block, DeletePod, EvictPod, CreateFetchPod, DeleteFetchPod, CreateUpgradeBackup, DeleteUpgradeBackup:
		return false
	}
	return true
}
