package config

import (
	corev1 "k8s.io/api/core/v1"
)

const (
	// AppName is the value of app.kubernetes.io/name on all children.
	AppName = "etcd"
	// FetchAppName is the value of app.kubernetes.io/name on the pod of a backup: no Service and no budget of the members selects it.
	FetchAppName = "etcd-restore"
	// DataVolume is where a member keeps its data.
	DataVolume = "data"
)

const (
	// AnnotationPermit holds, on a pod, whether and how it may start.
	AnnotationPermit = "mainstay-operator.io/etcd-permit"
	// AnnotationData is set on a claim before a member starts on its volume, and on an EtcdBackup that is made before an upgrade. It
	// names the cluster, by the token of its record.
	AnnotationData = "mainstay-operator.io/etcd-data"
	// AnnotationRecord is the stamp of a claim, in JSON: the record of who is a member, with which a later object of the same name
	// continues (membership.Stamp).
	AnnotationRecord = "mainstay-operator.io/etcd-record"
	// AnnotationLoads is the version that is to load the backup which the pod fetches.
	AnnotationLoads = "mainstay-operator.io/etcd-restore-version"
	// AnnotationSource is the UID of the EtcdRestore that asks for the backup which the pod fetches; empty for spec.bootstrap.
	AnnotationSource = "mainstay-operator.io/etcd-restore-source"
	// AnnotationTrusted shows on a pod which authorities its etcd trusts. etcd reads them when it starts, so others take new pods. The
	// certificates themselves it reads at each handshake.
	AnnotationTrusted = "mainstay-operator.io/etcd-peer-authorities"
	// AnnotationClientAuthorities shows on a pod whose certificates its etcd accepts from clients. etcd reads that when it starts, so
	// others take new pods. What it shows itself it reads at each handshake.
	AnnotationClientAuthorities = "mainstay-operator.io/etcd-client-authorities"
)

// Keys of the Secrets, besides those of package pki and of type kubernetes.io/tls.
const (
	AuthorityKeyKey = "ca.key"
	ClientCertKey   = "client.crt"
	ClientKeyKey    = "client.key"
	// TokenKeyFile is the key of Secrets with what tokens are signed with, and the file where a pod finds it.
	TokenKeyFile = "token.key"
)

// HasRun reports whether it is etcd's container, and was started.
func HasRun(c corev1.ContainerStatus) bool {
	return c.Name == AppName && (c.State.Running != nil || c.RestartCount > 0 || c.State.Terminated != nil)
}
