package redis

import (
	"fmt"
	"strings"
	"time"
)

// verb is what a step does.
type verb string

const (
	idle              verb = "Idle"              // nothing to do
	wait              verb = "Wait"              // let what is under way go on
	block             verb = "Block"             // ask a human, as going on could lose confirmed writes
	fence             verb = "Fence"             // make nodes follow nobody
	promote           verb = "Promote"           // save the intent, make a fenced node master, attach the others
	switchOver        verb = "SwitchOver"        // save the intent, fence the master, promote a replica that has all
	stepDown          verb = "StepDown"          // save the intent, fence a master that only the operator reaches, promote a replica that has all
	recordMaster      verb = "RecordMaster"      // save that a node is master
	attachReplicas    verb = "AttachReplicas"    // save that nodes may confirm writes, make them follow
	removeMembers     verb = "RemoveMembers"     // see that the others have all data, save that nodes confirm no more
	setMinReplicas    verb = "SetMinReplicas"    // change W (min-replicas-to-write)
	disconnectClients verb = "DisconnectClients" // close connections of applications to an old master
	setPasswords      verb = "SetPasswords"      // make nodes accept the passwords that the Secrets say
	applySettings     verb = "ApplySettings"     // give running nodes the settings that need no restart
	setPersistence    verb = "SetPersistence"    // turn the append-only file on or off
	loadCertificates  verb = "LoadCertificates"  // make nodes load the certificate that was published
	deletePod         verb = "DeletePod"         // delete a pod, so that it is made anew from the latest template
	deleteSilentPod   verb = "DeleteSilentPod"   // delete a pod that cannot be asked, with hardly any grace
	expelUnrecorded   verb = "ExpelUnrecorded"   // have the master refuse, and disconnect, replicas that are not on record
	serveStaleReads   verb = "ServeStaleReads"   // let nodes that have come to be in sync answer reads from now on
	dismissRequest    verb = "DismissRequest"    // take off an annotation that is done with
	endMastership     verb = "EndMastership"     // save that nobody is master any more
	stampVolumes      verb = "StampVolumes"      // write on volumes what they are worth
)

// step is the one thing that a pass does.
type step struct {
	do           verb
	nodes        []string      // acted on
	message      string        // told to people
	reason       string        // of the condition, event or change of the master that reports it
	evidence     string        // proof that the old master takes no writes
	unsafe       bool          // a human forced it by annotation
	minReplicas  int32         // W to set
	requeueAfter time.Duration // when to look again
}

func (s step) String() string { return fmt.Sprintf("%s %s", s.do, strings.Join(s.nodes, ",")) }

// acts reports whether the step does anything outside of this process.
func (s step) acts() bool { return s.do != idle && s.do != wait && s.do != block }

// needsCharge reports whether only the operator in charge may do the step. Passwords, settings and certificates are told
// by whoever leads, as the object and the Secrets have them: so a new leader, which does not know what the servers run
// with, changes nothing of an object at rest. None of these changes who is master or who may confirm writes.
func (s step) needsCharge() bool {
	switch s.do {
	case idle, wait, block, serveStaleReads, setPasswords, applySettings, setPersistence, loadCertificates, disconnectClients, dismissRequest:
		return false
	}
	return true
}

// changes reports whether the step changes what is decided next, so that another pass is due at once.
func (s step) changes() bool {
	switch s.do {
	case idle, wait, block, disconnectClients, serveStaleReads, setPersistence, loadCertificates, deletePod, deleteSilentPod, expelUnrecorded:
		return false
	}
	return true
}
