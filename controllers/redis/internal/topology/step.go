package topology

import (
	"fmt"
	"strings"
	"time"
)

// Verb is what a step does.
type Verb string

// What a step can do.
const (
	Idle              Verb = "Idle"              // nothing to do
	Wait              Verb = "Wait"              // let what is under way go on
	Block             Verb = "Block"             // ask a human, as going on could lose confirmed writes
	Fence             Verb = "Fence"             // make nodes follow nobody
	Promote           Verb = "Promote"           // save the intent, make a fenced node master, attach the others
	SwitchOver        Verb = "SwitchOver"        // save the intent, fence the master, promote a replica that has all
	StepDown          Verb = "StepDown"          // save the intent, fence a master that only the operator reaches, promote a replica that has all
	RecordMaster      Verb = "RecordMaster"      // save that a node is master
	AttachReplicas    Verb = "AttachReplicas"    // save that nodes may confirm writes, make them follow
	RemoveMembers     Verb = "RemoveMembers"     // see that the others have all data, save that nodes confirm no more
	SetMinReplicas    Verb = "SetMinReplicas"    // change W (min-replicas-to-write)
	DisconnectClients Verb = "DisconnectClients" // close connections of applications to an old master
	SetPasswords      Verb = "SetPasswords"      // make nodes accept the passwords that the Secrets say
	ApplySettings     Verb = "ApplySettings"     // give running nodes the settings that need no restart
	SetPersistence    Verb = "SetPersistence"    // turn the append-only file on or off
	LoadCertificates  Verb = "LoadCertificates"  // make nodes load the certificate that was published
	DeletePod         Verb = "DeletePod"         // delete a pod, so that it is made anew from the latest template
	DeleteSilentPod   Verb = "DeleteSilentPod"   // delete a pod that cannot be asked, with hardly any grace
	ExpelUnrecorded   Verb = "ExpelUnrecorded"   // have the master refuse, and disconnect, replicas that are not on record
	ServeStaleReads   Verb = "ServeStaleReads"   // let nodes that have come to be in sync answer reads from now on
	DismissRequest    Verb = "DismissRequest"    // take off an annotation that is done with
	EndMastership     Verb = "EndMastership"     // save that nobody is master any more
	StampVolumes      Verb = "StampVolumes"      // write on volumes what they are worth
	CreateRestorePod  Verb = "CreateRestorePod"  // save that a backup is loaded, make the pod that fetches and serves it
	LoadBackup        Verb = "LoadBackup"        // save which node loads the backup, have it copy from the pod that serves it
	DeleteRestorePod  Verb = "DeleteRestorePod"  // delete the pod that served the backup, or failed to
)

// Step is the one thing that a pass does.
type Step struct {
	Do           Verb
	NodeNames    []string      // acted on
	Message      string        // told to people
	Reason       string        // of the condition, event or change of the master that reports it
	Evidence     string        // proof that the old master takes no writes
	Unsafe       bool          // a human forced it by annotation
	MinReplicas  int32         // W to set
	RequeueAfter time.Duration // when to look again
}

func (s Step) String() string { return fmt.Sprintf("%s %s", s.Do, strings.Join(s.NodeNames, ",")) }

// Acts reports whether the step does anything outside of this process.
func (s Step) Acts() bool { return s.Do != Idle && s.Do != Wait && s.Do != Block }

// NeedsCharge reports whether only the operator in charge may do the step. Passwords, settings and certificates are told
// by whoever leads, as the object and the Secrets have them: so a new leader, which does not know what the servers run
// with, changes nothing of an object at rest. None of these changes who is master or who may confirm writes.
func (s Step) NeedsCharge() bool {
	switch s.Do {
	case Idle, Wait, Block, ServeStaleReads, SetPasswords, ApplySettings, SetPersistence, LoadCertificates, DisconnectClients, DismissRequest:
		return false
	}
	return true
}

// Changes reports whether the step changes what is decided next, so that another pass is due at once.
func (s Step) Changes() bool {
	switch s.Do {
	case Idle, Wait, Block, DisconnectClients, ServeStaleReads, SetPersistence, LoadCertificates, DeletePod, DeleteSilentPod, ExpelUnrecorded,
		CreateRestorePod, DeleteRestorePod:
		return false
	}
	return true
}
