package v1

// Condition types of every kind that runs a workload.
const (
	// ConditionReady is True when this generation is fully rolled out and healthy.
	ConditionReady = "Ready"
	// ConditionAvailable is True while at least the minimum serves.
	ConditionAvailable = "Available"
	// ConditionProgressing is True while the operator or a workload controller is changing something.
	ConditionProgressing = "Progressing"
	// ConditionDegraded is True when a human is needed, or when the workload
	// stays below what is desired beyond its progress deadline.
	ConditionDegraded = "Degraded"
	// ConditionPaused is True while spec.paused holds every write back.
	ConditionPaused = "Paused"
	// ConditionUpdateAvailable is True when the operator's default image is
	// newer than the one that runs. Setting spec.image moves it.
	ConditionUpdateAvailable = "UpdateAvailable"
)

// Condition types of kstatus, by which Flux and others judge an object: they are True, or absent. Each has the reason and the
// message of the condition that it follows from.
const (
	// ConditionReconciling is True while a kind without Ready is under way; it follows from Progressing.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True when nothing changes until somebody acts; it follows from Failed, or from Degraded of an object
	// that is neither Ready nor Progressing.
	ConditionStalled = "Stalled"
)

// Condition types of a run-once kind, as batch/v1 Job has them.
const (
	// ConditionComplete is True when the command has succeeded.
	ConditionComplete = "Complete"
	// ConditionFailed is True when the command has failed for good.
	ConditionFailed = "Failed"
	// ConditionSuspended is True while spec.suspend holds back what has not started.
	ConditionSuspended = "Suspended"
	// ConditionNodeReachable is False while the node of a command that runs does not
	// answer. The command may continue there.
	ConditionNodeReachable = "NodeReachable"
	// ConditionHostResolved is False while the scheduler finds no place on the node
	// that spec.host names, be it unknown or full; the message is the scheduler's.
	ConditionHostResolved = "HostResolved"
)

// Condition types of the kinds that hold data.
const (
	// ConditionFailoverPossible is True while losing the master now would lose no confirmed write.
	ConditionFailoverPossible = "FailoverPossible"
	// ConditionSplitBrain is True while two nodes take writes: one is being made a
	// replica, or the message says what a human must decide.
	ConditionSplitBrain = "SplitBrain"
	// ConditionCredentialsInSync is True while every node that answers accepts the
	// passwords that the Secrets say.
	ConditionCredentialsInSync = "CredentialsInSync"
	// ConditionCertificatesInSync is True while every node uses the certificate that
	// tls.secretName's Secret says. Only an object with tls has it.
	ConditionCertificatesInSync = "CertificatesInSync"
	// ConditionSettingsInSync is True while the servers run with what config,
	// persistence and maxMemoryPercent say, and would start with it.
	ConditionSettingsInSync = "SettingsInSync"
	// ConditionStorageResizing is True while a volume is smaller than storage.size asks for.
	ConditionStorageResizing = "StorageResizing"
)
