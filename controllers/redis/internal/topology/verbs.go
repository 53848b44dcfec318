package topology

import "maps"

// Verb is what a step does.
type Verb string

// What a step can do.
const (
	Idle       Verb = "Idle"       // nothing to do
	Wait       Verb = "Wait"       // let what is under way continue
	Block      Verb = "Block"      // ask a human, as continuing could lose confirmed writes
	Fence      Verb = "Fence"      // make nodes follow no server
	Promote    Verb = "Promote"    // save the intent, make a fenced node master, attach the others
	SwitchOver Verb = "SwitchOver" // save the intent, fence the master, promote a replica that has all
	// save the intent, fence a master that only the operator reaches, promote a replica that has all
	StepDown          Verb = "StepDown"
	RecordMaster      Verb = "RecordMaster"      // save that a node is master
	AttachReplicas    Verb = "AttachReplicas"    // save that nodes may confirm writes, make them follow
	RemoveMembers     Verb = "RemoveMembers"     // see that the others have all data, save that nodes confirm no more
	SetMinReplicas    Verb = "SetMinReplicas"    // change W (min-replicas-to-write)
	DisconnectClients Verb = "DisconnectClients" // close connections of applications to an old master
	SetPasswords      Verb = "SetPasswords"      // make nodes accept the passwords that the Secrets say
	ApplySettings     Verb = "ApplySettings"     // give running nodes the settings that need no restart
	SetPersistence    Verb = "SetPersistence"    // turn the append-only file on or off
	LoadCertificates  Verb = "LoadCertificates"  // make nodes load the certificate that was published
	DeletePod         Verb = "DeletePod"         // delete a pod, so that it is recreated from the latest template
	DeleteSilentPod   Verb = "DeleteSilentPod"   // delete a pod that cannot be asked, with hardly any grace
	ExpelUnrecorded   Verb = "ExpelUnrecorded"   // have the master refuse, and disconnect, replicas that are not recorded
	ServeStaleReads   Verb = "ServeStaleReads"   // let nodes that have come to be in sync answer reads from now on
	DismissRequest    Verb = "DismissRequest"    // take off an annotation that is done with
	EndMastership     Verb = "EndMastership"     // save that no server is master any more
	StampVolumes      Verb = "StampVolumes"      // write on volumes what they are worth
	CreateRestorePod  Verb = "CreateRestorePod"  // save that a backup is loaded, make the pod that fetches and serves it
	LoadBackup        Verb = "LoadBackup"        // save which node loads the backup, have it copy from the pod that serves it
	DeleteRestorePod  Verb = "DeleteRestorePod"  // delete the pod that served the backup, or failed to
)

// Traits of a verb say who may do it, and what follows.
type Traits struct {
	// Acts says that it does something outside of this process.
	Acts bool
	// NeedsCharge says that only the operator in charge may do it. Passwords, settings and certificates are sent
	// by any leader, as the object and the Secrets have them: so a new leader, which does not know what the servers run
	// with, changes nothing of an object at rest. None of these changes who is master or who may confirm writes.
	NeedsCharge bool
	// Changes says that it changes what is decided next, so that another pass is due at once.
	Changes bool
}

// Verbs returns a copy of the table, which has a row for each verb.
func Verbs() map[Verb]Traits { return maps.Clone(verbs) }

var verbs = map[Verb]Traits{
	Idle:              {},
	Wait:              {},
	Block:             {},
	Fence:             {Acts: true, NeedsCharge: true, Changes: true},
	Promote:           {Acts: true, NeedsCharge: true, Changes: true},
	SwitchOver:        {Acts: true, NeedsCharge: true, Changes: true},
	StepDown:          {Acts: true, NeedsCharge: true, Changes: true},
	RecordMaster:      {Acts: true, NeedsCharge: true, Changes: true},
	AttachReplicas:    {Acts: true, NeedsCharge: true, Changes: true},
	RemoveMembers:     {Acts: true, NeedsCharge: true, Changes: true},
	SetMinReplicas:    {Acts: true, NeedsCharge: true, Changes: true},
	DisconnectClients: {Acts: true},
	SetPasswords:      {Acts: true, Changes: true},
	ApplySettings:     {Acts: true, Changes: true},
	SetPersistence:    {Acts: true},
	LoadCertificates:  {Acts: true},
	DeletePod:         {Acts: true, NeedsCharge: true},
	DeleteSilentPod:   {Acts: true, NeedsCharge: true},
	ExpelUnrecorded:   {Acts: true, NeedsCharge: true},
	ServeStaleReads:   {Acts: true},
	DismissRequest:    {Acts: true, Changes: true},
	EndMastership:     {Acts: true, NeedsCharge: true, Changes: true},
	StampVolumes:      {Acts: true, NeedsCharge: true, Changes: true},
	CreateRestorePod:  {Acts: true, NeedsCharge: true},
	LoadBackup:        {Acts: true, NeedsCharge: true, Changes: true},
	DeleteRestorePod:  {Acts: true, NeedsCharge: true},
}
