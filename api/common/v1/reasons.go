package v1

// A reason is for programs: it is one of these constants, and each has the name of its string. What people read is the
// message next to it.

// Reasons, the same words for every kind.
const (
	// ReasonReplicas : the message says how many replicas are ready of how many.
	ReasonReplicas = "Replicas"
	// ReasonRollingOut : the workload controller is rolling the desired generation out.
	ReasonRollingOut = "RollingOut"
	// ReasonRolledOut : the desired generation runs everywhere.
	ReasonRolledOut = "RolledOut"
	// ReasonScaledToZero : size is 0, nothing runs and nothing is expected to.
	ReasonScaledToZero = "ScaledToZero"
	// ReasonProgressDeadlineExceeded : the rollout made no progress within its deadline.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
	// ReasonRolledBack : a rollout failed, and the pods of the last completed one run
	// again; the message says why.
	ReasonRolledBack = "RolledBack"
	// ReasonPodFailing : a pod cannot be made, cannot start or keeps stopping; the message carries the words of the
	// kubelet or the API server.
	ReasonPodFailing = "PodFailing"
	// ReasonAsExpected : nothing needs a human.
	ReasonAsExpected = "AsExpected"
	// ReasonInvalidSpec : the spec cannot be carried out; the message names the field.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonNameConflict : an object of a child's name exists and is not ours; it is not touched.
	ReasonNameConflict = "NameConflict"
	// ReasonRefusedByServer : the API server refuses a child; the message carries its words.
	ReasonRefusedByServer = "RefusedByServer"
	// ReasonReconcileStuck : twice in a row a reconciliation of the object did not end, and the operator had to be restarted;
	// the object is not reconciled for 24 hours, or until its spec changes.
	ReasonReconcileStuck = "ReconcileStuck"
	// ReasonRetrying : a call failed and is tried again.
	ReasonRetrying = "Retrying"
	// ReasonAPIMissing : a child is of a type that the cluster lacks; the message names
	// the field that asks for it.
	ReasonAPIMissing = "APIMissing"
	// ReasonWaiting : something must end by itself first; the message says what.
	ReasonWaiting = "Waiting"
	// ReasonSpecPaused : spec.paused is true, and holds back what the message names.
	ReasonSpecPaused = "SpecPaused"
	// ReasonNotPaused : spec.paused is false.
	ReasonNotPaused = "NotPaused"
	// ReasonNewDefaultImage : the operator brings a newer default image than the one that runs.
	ReasonNewDefaultImage = "NewDefaultImage"
	// ReasonCurrentImage : the image that runs is the one asked for.
	ReasonCurrentImage = "CurrentImage"
)

// Reasons of a run-once kind. Where the container runtime or the kubelet has a
// word of its own for how a command ended, as OOMKilled or Evicted, that is the reason.
const (
	// ReasonExited : the command ended by itself.
	ReasonExited = "Exited"
	// ReasonDeadlineExceeded : the command did not end within its timeout.
	ReasonDeadlineExceeded = "DeadlineExceeded"
	// ReasonCancelled : spec.cancel ended the command or came before it started.
	ReasonCancelled = "Cancelled"
	// ReasonPodDeleted : somebody deleted the pod.
	ReasonPodDeleted = "PodDeleted"
	// ReasonPodGone : the pod is gone with its result.
	ReasonPodGone = "PodGone"
	// ReasonNodeLost : the pod was given up together with its node.
	ReasonNodeLost = "NodeLost"
	// ReasonStartedTwice : the container was started a second time; how the first start
	// ended is unknown.
	ReasonStartedTwice = "StartedTwice"
	// ReasonNotStarted : the command could not be started.
	ReasonNotStarted = "NotStarted"
	// ReasonStartDeadlineExceeded : the command had not started when startDeadline passed.
	ReasonStartDeadlineExceeded = "StartDeadlineExceeded"
	// ReasonSpecSuspended : spec.suspend is true.
	ReasonSpecSuspended = "SpecSuspended"
	// ReasonNotSuspended : spec.suspend is false.
	ReasonNotSuspended = "NotSuspended"
	// ReasonAlreadyStarted : spec.suspend is true, but came after the start; it
	// holds back a next attempt only.
	ReasonAlreadyStarted = "AlreadyStarted"
	// ReasonNodeSilent : the cluster does not hear from the node.
	ReasonNodeSilent = "NodeSilent"
	// ReasonNodeAnswers : the node is heard from again.
	ReasonNodeAnswers = "NodeAnswers"
	// ReasonScheduled : the pod has a node.
	ReasonScheduled = "Scheduled"
	// ReasonUnschedulable : the scheduler finds no node for the pod.
	ReasonUnschedulable = "Unschedulable"
)

// Reasons of Redis' conditions.
const (
	// ReasonMasterServes : the message names the node that takes writes.
	ReasonMasterServes = "MasterServes"
	// ReasonMasterBusy : a script or function keeps the master from answering anything but BUSY. The message says since when,
	// and how to end it.
	ReasonMasterBusy = "MasterBusy"
	// ReasonNoMaster : no node is known to take writes.
	ReasonNoMaster = "NoMaster"
	// ReasonOneMaster : no second node takes writes.
	ReasonOneMaster = "OneMaster"
	// ReasonSeveralMasters : the message names the nodes that take writes.
	ReasonSeveralMasters = "SeveralMasters"
	// ReasonDiskError : the message names the nodes that cannot write to their volumes.
	ReasonDiskError = "DiskError"
	// ReasonUnreadableReply : the message names the nodes that answer as no Redis server does.
	ReasonUnreadableReply = "UnreadableReply"
	// ReasonPromotionBlocked : making a new master could lose confirmed writes; the
	// message says who is awaited and how to continue without.
	ReasonPromotionBlocked = "PromotionBlocked"
	// ReasonHibernating : spec.hibernate is true; writes end and pods go.
	ReasonHibernating = "Hibernating"
	// ReasonHibernated : spec.hibernate is true; nothing runs, the volumes keep the data.
	ReasonHibernated = "Hibernated"
	// ReasonResizing : the message names the volumes that are to grow.
	ReasonResizing = "Resizing"
	// ReasonResized : every volume is as large as asked for.
	ReasonResized = "Resized"
	// ReasonOperatorCannotReachPods : no server answers the operator, which proves
	// nothing about the servers: none is promoted over or deleted.
	ReasonOperatorCannotReachPods = "OperatorCannotReachPods"
	// ReasonReplicasInSync : enough replicas follow that one has every confirmed write.
	ReasonReplicasInSync = "ReplicasInSync"
	// ReasonNoReplicaInSync : no replica follows the master.
	ReasonNoReplicaInSync = "NoReplicaInSync"
	// ReasonTooFewReplicasInSync : replicas follow, but not enough to be sure.
	ReasonTooFewReplicasInSync = "TooFewReplicasInSync"
	// ReasonPasswordsAccepted : every node that answers accepts what the Secrets say.
	ReasonPasswordsAccepted = "PasswordsAccepted"
	// ReasonPasswordsOverlap : the passwords before are accepted, too; for a Redis the message says until when.
	ReasonPasswordsOverlap = "PasswordsOverlap"
	// ReasonRotating : the nodes are being sent the passwords.
	ReasonRotating = "Rotating"
	// ReasonPasswordRefused : a node will not change its passwords.
	ReasonPasswordRefused = "PasswordRefused"
	// ReasonReadmitting : a replica does not know the operator's password and is restarted.
	ReasonReadmitting = "Readmitting"
	// ReasonLockedOut : nodes do not know the operator's password and none that does
	// is master; the message says the way out.
	ReasonLockedOut = "LockedOut"
	// ReasonSettingsApplied : the servers run with what the spec says.
	ReasonSettingsApplied = "SettingsApplied"
	// ReasonApplyingSettings : running servers are being sent the settings; the message names the fields.
	ReasonApplyingSettings = "ApplyingSettings"
	// ReasonCertificatesLoaded : every node uses what the Secret says.
	ReasonCertificatesLoaded = "CertificatesLoaded"
	// ReasonReloading : a certificate is being handed to the nodes.
	ReasonReloading = "Reloading"
	// ReasonSecretUnusable : a Secret that the spec names is missing or of no use;
	// the message names the field and the key.
	ReasonSecretUnusable = "SecretUnusable"
)

// Reasons of EtcdCluster's conditions.
const (
	// ReasonQuorum : a majority of the voters is healthy.
	ReasonQuorum = "Quorum"
	// ReasonNoQuorum : no majority of the voters is known to be healthy: etcd takes no writes.
	ReasonNoQuorum = "NoQuorum"
	// ReasonTooManyUsers : etcd has more users than the operator looks through before it requires a login.
	ReasonTooManyUsers = "TooManyUsers"
	// ReasonUnknownMember : etcd lists members that the operator has not added.
	ReasonUnknownMember = "UnknownMember"
	// ReasonDataLost : a member has lost its data, and cannot be replaced now; the message says why.
	ReasonDataLost = "DataLost"
	// ReasonRestartBlocked : a pod must be recreated, and its data would go with it; the message says the way out.
	ReasonRestartBlocked = "RestartBlocked"
	// ReasonEvictionBlocked : PodDisruptionBudgets keep a pod from being recreated; the message names them, and the way out.
	ReasonEvictionBlocked = "EvictionBlocked"
	// ReasonRecordLost : status.membership is gone, and members' data is there; or it is not recorded what an EtcdRestore has started.
	ReasonRecordLost = "RecordLost"
	// ReasonPeerSecretsLost : the Secrets by which the members trust each other are gone; the message says the way out.
	ReasonPeerSecretsLost = "PeerSecretsLost"
	// ReasonClientCertificatesLost : the members' copy of the certificates for clients is gone, and members refuse those in the
	// user's Secret; the message says the way out.
	ReasonClientCertificatesLost = "ClientCertificatesLost"
	// ReasonQuorumLost : a majority of the members has lost its data; the message says the way out.
	ReasonQuorumLost = "QuorumLost"
	// ReasonDataCorrupt : the data of members differs, and they cannot be replaced now; the message says why.
	ReasonDataCorrupt = "DataCorrupt"
	// ReasonNoSpace : the data exceeds the quota, and no writes are taken.
	ReasonNoSpace = "NoSpace"
	// ReasonQuotaNearlyReached : most of the quota is in use; the message says how much, and what to do.
	ReasonQuotaNearlyReached = "QuotaNearlyReached"
	// ReasonBackupUnusable : the backup that an object is to start with cannot be fetched or loaded; the message says why, in the
	// store's or the server's words. It is tried again.
	ReasonBackupUnusable = "BackupUnusable"
	// ReasonDataExists : there is data where a backup was to be loaded, or a member to start without data; nothing is overwritten.
	ReasonDataExists = "DataExists"
	// ReasonRestoring : a backup is being loaded, or with an EtcdRestore the earlier members are stopped for it.
	ReasonRestoring = "Restoring"
	// ReasonSuperseded : another EtcdRestore took the place of this one before any member ran with its backup.
	ReasonSuperseded = "Superseded"
	// ReasonUpgradeBlocked : the members cannot go to the version that the spec asks for, or the backup before it is not made; the
	// message says why.
	ReasonUpgradeBlocked = "UpgradeBlocked"
)

// ReasonBackupSourceUnknown : an event alone: the manifest of the backup that an object started with does not say what was backed up.
const ReasonBackupSourceUnknown = "BackupSourceUnknown"

// ReasonKeysExpire : an event alone: keys of the backup that a Redis starts with have a time to live, and may be gone by now.
const ReasonKeysExpire = "KeysExpire"

// Reasons of the conditions of EtcdBackup and RedisBackup, and of their events.
const (
	// ReasonBackupVerified : the latest backup that was due is in the store, and a server was started from it.
	ReasonBackupVerified = "BackupVerified"
	// ReasonBackupWritten : the latest backup that was due is in the store; verify is false.
	ReasonBackupWritten = "BackupWritten"
	// ReasonBackupFailed : no attempt at the latest backup that was due succeeded in time; the message says why.
	ReasonBackupFailed = "BackupFailed"
	// ReasonBackupMissed : the latest backup that was due never started; the message says why.
	ReasonBackupMissed = "BackupMissed"
	// ReasonBackupUnderWay : a backup is being made.
	ReasonBackupUnderWay = "BackupUnderWay"
	// ReasonBackupNotDue : no backup is due now.
	ReasonBackupNotDue = "BackupNotDue"
	// ReasonBackupRefused : the store or the server refuses, and somebody must repair that; the message has its words.
	ReasonBackupRefused = "BackupRefused"
	// ReasonBackupTooOld : two backups were due since the newest one was started, and nothing else says why there is none.
	ReasonBackupTooOld = "BackupTooOld"
	// ReasonSourceNotReady : a backup is due, and what is to be backed up is not there or not available.
	ReasonSourceNotReady = "SourceNotReady"
	// ReasonClockBehind : the clock is far behind what was due already.
	ReasonClockBehind = "ClockBehind"
	// ReasonMembersDiffer : a member of an etcd had other data than most when the latest backup was made.
	ReasonMembersDiffer = "MembersDiffer"
	// ReasonRetentionHeld : retention deletes no backup until somebody has looked.
	ReasonRetentionHeld = "RetentionHeld"
	// ReasonNotDeleted : a backup was made, and the store did not delete what should go.
	ReasonNotDeleted = "NotDeleted"
)

// Reasons for a change of a Redis master: status.lastFailover.reason, and a label of the metric. ReasonDiskError is one,
// too.
const (
	// ReasonForming : the Redis had no master and no data yet.
	ReasonForming = "Forming"
	// ReasonRestored : a Redis had no master and no data yet, and started with the backup that the spec names; or the first member
	// of an EtcdCluster runs with the backup of an EtcdRestore.
	ReasonRestored = "Restored"
	// ReasonMasterLost : the master is dead, was silent for too long, or was fenced by a change that did not end.
	ReasonMasterLost = "MasterLost"
	// ReasonMasterCutOff : the operator reached the master, and its replicas did not.
	ReasonMasterCutOff = "MasterCutOff"
	// ReasonRecovering : no process was left that ran with the master's history; the volumes showed whose data is the latest.
	ReasonRecovering = "Recovering"
	// ReasonDatasetLost : no volume held any key. The Redis started again, empty.
	ReasonDatasetLost = "DatasetLost"
	// ReasonRecordOutdated : the servers were ahead of the status, as after a restore of the API server.
	ReasonRecordOutdated = "RecordOutdated"
	// ReasonMasterPodDeleted : the master's pod was deleted by force while its process continued.
	ReasonMasterPodDeleted = "MasterPodDeleted"
	// ReasonMasterTerminating : the master's pod was deleted or evicted, and served on until then.
	ReasonMasterTerminating = "MasterTerminating"
	// ReasonMasterOutdated : the master's pod is to be recreated from a later template.
	ReasonMasterOutdated = "MasterOutdated"
	// ReasonScaledDown : spec.size leaves no place for the master's pod.
	ReasonScaledDown = "ScaledDown"
	// ReasonSwitchoverRequested : somebody asked for it by annotation.
	ReasonSwitchoverRequested = "SwitchoverRequested"
)

// Reasons of events that report no condition.
const (
	// ReasonMasterChanged : the Service leads to another master; the message says why.
	ReasonMasterChanged = "MasterChanged"
	// ReasonSwitchoverRefused : the annotation that asked for a switchover was taken off; the message says why.
	ReasonSwitchoverRefused = "SwitchoverRefused"
	// ReasonCertificateLoaded : the nodes in the message use the certificate that was published.
	ReasonCertificateLoaded = "CertificateLoaded"
	// ReasonPeerCertificatesChanged : the members have new certificates to show to each other, or trust another authority.
	ReasonPeerCertificatesChanged = "PeerCertificatesChanged"
	// ReasonForeignDataUnchecked : a member without data starts on a volume without looking for the data of another cluster there.
	ReasonForeignDataUnchecked = "ForeignDataUnchecked"
)

// Reasons of OLM's condition Upgradeable.
const (
	// ReasonNothingUnderWay : an upgrade would cut nothing short.
	ReasonNothingUnderWay = "NothingUnderWay"
	// ReasonChangeUnderWay : the upgrade waits for the objects in the message.
	ReasonChangeUnderWay = "ChangeUnderWay"
	// ReasonHeldLongEnough : the upgrade no longer waits for the objects in the message: each took too long, or all together did.
	ReasonHeldLongEnough = "HeldLongEnough"
)
