package backup

import (
	"time"
)

// Manifest describes one backup. It is written as JSON after the data, and read before it.
type Manifest struct {
	// Format of this manifest: 1. A runner refuses a later one.
	Format int        `json:"format"`
	Kind   ServerType `json:"kind"`
	// Item is the backup's name.
	Item string `json:"item"`
	// Time when the backup was started.
	Time time.Time `json:"time"`
	// Size of the data in the store, in bytes, and its SHA-256 in hexadecimal.
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	// Compression of the data: "Gzip" or "None".
	Compression string `json:"compression"`
	// RawSize and RawSHA256 are those of the data before its compression.
	RawSize   int64  `json:"rawSize"`
	RawSHA256 string `json:"rawSHA256"`
	// SourceUID is the UID of the EtcdCluster or Redis, which distinguishes sources. Releases before Source have only this.
	SourceUID string `json:"sourceUID"`
	// Source says what was backed up.
	Source Origin `json:"source,omitzero"`
	// Dataset distinguishes the data sets of one Redis: it changes when all data was lost. For an etcd, its ClusterID does.
	Dataset string `json:"dataset,omitempty"`
	// Started is when the runner started, and Written is when it wrote this manifest, both by the clock of its node.
	Started time.Time `json:"started,omitzero"`
	Written time.Time `json:"written,omitzero"`
	// ServerVersion that the data was read from, such as 3.6.16 or 8.0.1.
	ServerVersion string `json:"serverVersion"`

	// Revision of an etcd's keys in the data, and the ID of its cluster.
	Revision  int64  `json:"revision,omitempty"`
	ClusterID string `json:"clusterID,omitempty"`
	// Compared says which member of the etcd had the same data as the one that was read. Manifests of earlier releases have none.
	Compared *Comparison `json:"compared,omitempty"`

	// ReplicationID and Offset of a Redis at which the data was read.
	ReplicationID string `json:"replicationID,omitempty"`
	Offset        int64  `json:"offset,omitempty"`
	// RDBVersion is the version of Redis' dump format, which an earlier server cannot load.
	RDBVersion int `json:"rdbVersion,omitempty"`
	// Keys in the dump, and those of them that have a time to live, as the dump itself counts them.
	Keys    int64 `json:"keys,omitempty"`
	Expires int64 `json:"expires,omitempty"`
}

// Origin names the object that was backed up. Its UID identifies it; the names are for people.
type Origin struct {
	UID string `json:"uid"`
	// Cluster is the SHA-256 of the certificate authority of the API server, in hexadecimal. It is empty if that is not known.
	Cluster string `json:"cluster,omitempty"`
	// Kind is EtcdCluster or Redis.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Format is the version of manifests that this release writes, and the latest that it reads.
const Format = 1

// MaxManifest bounds a manifest, in bytes.
const MaxManifest = 16 << 10
