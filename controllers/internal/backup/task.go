package backup

import (
	"cmp"
	"time"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// Program is where the runner is in the operator's image. Command words follow it, then --task and a Task as JSON. A task holds
// no secret: those are files.
const Program = "/backup-runner"

// The commands of the runner, each a container of a pod.
const (
	// CommandInstall copies the runner to ProgramDir, from where a container with a server's image starts it.
	CommandInstall = "install"
	// CommandBackup reads the source and writes data and manifest into the store. It first deletes what Task.Leftovers names and is no
	// backup, and at last the rest of it.
	CommandBackup = "backup"
	// CommandFetch reads an item back from the store into ScratchDir, decompressed, and checks both sums.
	CommandFetch = "fetch"
	// CommandServe gives what was fetched to members of an etcd, which show a certificate of PeersDir's authority (package serve).
	CommandServe = "serve"
	// CommandVerify runs in the server's image, without any secret: it starts a server from what was fetched and compares it with
	// the manifest. Its exit code is the verdict.
	CommandVerify = "verify"
	// CommandFinish marks the item as verified if that was asked for, deletes what retention does not keep, and lists what is left. It
	// runs only after CommandVerify has succeeded.
	CommandFinish = "finish"
)

// Directories and files in the runner's pods.
const (
	ScratchDir     = "/scratch"               // emptyDir that all containers share
	StoreDir       = "/store"                 // the volume of a volume store
	StoreSecretDir = "/etc/backup/store"      // accessKeyID, secretAccessKey, sessionToken
	StoreCADir     = "/etc/backup/store-ca"   // ca.crt
	SourceDir      = "/etc/backup/source"     // username, password; with tls ca.crt; tls.crt, tls.key where servers ask for them
	PeersDir       = "/etc/backup/peers"      // of an EtcdCluster: ca.crt, tls.crt, tls.key by which its members know each other
	ProgramDir     = "/backup-runner-program" // emptyDir with the runner
	DataFile       = ScratchDir + "/data"     // what was fetched, decompressed
	ManifestFile   = ScratchDir + "/manifest.json"
)

// Where CommandServe serves what was fetched: by TLS, with certificates on both sides.
const (
	ServePort    = 8443
	ManifestPath = "/manifest" // ManifestFile
	DataPath     = "/data"     // DataFile
)

// Task is what a runner has to do.
type Task struct {
	Kind ServerType `json:"kind"`
	// Store as the object has it; its secrets are in StoreSecretDir and StoreCADir, a volume is at StoreDir.
	Store commonv1.BackupStore `json:"store"`
	// Folder within the store, as Folder gives it.
	Folder string `json:"folder"`
	// Item to write, or to read.
	Item string `json:"item,omitempty"`
	// Choose says which item to fetch where none is named, and whether a named one may be unverified. Without it, it may.
	Choose *Choice `json:"choose,omitempty"`
	// Time when the backup was started.
	Time time.Time `json:"time,omitzero"`
	// Leftovers are items of earlier attempts; what is there of them is deleted, unless it is verified.
	Leftovers []string `json:"leftovers,omitempty"`
	// Verify: the item is verified before it counts.
	Verify      bool                       `json:"verify,omitempty"`
	Compression commonv1.BackupCompression `json:"compression,omitempty"`
	Retention   *commonv1.BackupRetention  `json:"retention,omitempty"`
	Source      *Source                    `json:"source,omitempty"`
	// Allowed is the item up to which a human has accepted what became of the data (commonv1.AllowRetention).
	Allowed string `json:"allowed,omitempty"`
	// MaxVersion is the version of the server that is to load the data; a backup that it cannot load is refused, by etcd's minor
	// version or by the version of Redis' dump format. Empty: any.
	MaxVersion string `json:"maxVersion,omitempty"`
	// Scratch bounds what may be in ScratchDir.
	Scratch Scratch `json:"scratch,omitzero"`
}

// Choice chooses one item of a folder.
type Choice struct {
	// Before: the latest that was started before; zero means the latest of all.
	Before time.Time `json:"before,omitzero"`
	// AllowUnverified accepts a backup that was not verified, too.
	AllowUnverified bool `json:"allowUnverified,omitempty"`
	// Source is the UID of what was backed up; empty means that of the latest backup, or any where an item is named.
	Source string `json:"source,omitempty"`
}

// Source is where a backup's data comes from.
type Source struct {
	// UID of the EtcdCluster or Redis. A Redis proves it by the file SourceUIDKey in SourceDir.
	UID string `json:"uid"`
	// Origin is what the manifest says of it.
	Origin Origin `json:"origin,omitzero"`
	// ClusterID of an etcd, in hexadecimal: servers of another one are not read. Empty: any.
	ClusterID string `json:"clusterID,omitempty"`
	// ReplicationID of a Redis' history: a master of another is not read. Empty: any.
	ReplicationID string `json:"replicationID,omitempty"`
	// Dataset distinguishes the data sets of one Redis, each of which was empty at first.
	Dataset string `json:"dataset,omitempty"`
	// Size is how many servers a Redis has when all run; 0 in tasks of earlier releases, and of an etcd. A single server whose
	// replicas have not started yet is not read: it refuses, as any master of a Redis with replicas does.
	Size int32 `json:"size,omitempty"`
	// Endpoints are host:port of all servers, by names in DNS that are the object's own.
	Endpoints []string `json:"endpoints"`
	// TLS: connections use the files in SourceDir.
	TLS bool `json:"tls,omitempty"`
	// ServerName is a name that the certificates of all servers have; empty: the host of each endpoint.
	ServerName string `json:"serverName,omitempty"`
}

// FetchTask has the backup of a reference fetched, for a server of that version. namespace is that of the object which has the
// reference. fetched is the item that an earlier pod has fetched, if any: another pod must not choose another.
func FetchTask(server ServerType, from commonv1.BackupReference, namespace, fetched, version string) Task {
	choice := &Choice{AllowUnverified: from.AllowUnverified, Source: from.Source} // also of one that is named
	if from.Before != nil {
		choice.Before = from.Before.Time
	}
	return Task{Kind: server, Store: from.Store, Folder: Folder(cmp.Or(from.Namespace, namespace), from.Name),
		Item: cmp.Or(fetched, from.Item), Choose: choice, MaxVersion: version,
		Scratch: Scratch{Limit: RestoreScratchLimit}}
}
