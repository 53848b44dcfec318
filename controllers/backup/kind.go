package backup

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

// Object is an object of a kind of backup.
type Object interface {
	converge.Object
	// GetSourceName gives the name of what is backed up.
	GetSourceName() string
	GetBackupOptions() *commonv1.BackupOptions
	GetBackupStatus() *commonv1.BackupStatus
}

// Kind is what differs between the kinds of backup.
type Kind struct {
	gvk schema.GroupVersionKind
	// server whose data is backed up.
	server backup.ServerType
	// appName is the value of app.kubernetes.io/name on the pods.
	appName              string
	newObject, newSource func() client.Object
	newList              func() client.ObjectList
	// readSource reads the source. notReady says why it cannot be read now; it is empty if it can.
	readSource func(ctx context.Context, reader client.Reader, key types.NamespacedName) (found source, notReady string, err error)
}

// source is where a backup's data comes from, and what it is verified with.
type source struct {
	// kind is EtcdCluster or Redis.
	kind string
	uid  types.UID
	// cluster that it is in, as in Origin.Cluster.
	cluster string
	// clusterID of an etcd, in hexadecimal.
	clusterID string
	// replicationID of a Redis, and its data set, as in Source.Dataset.
	replicationID, dataset string
	// size is how many servers a Redis is to have, as in Source.Size.
	size int32
	// endpoints are host:port of all servers.
	endpoints []string
	tls       bool
	// serverName is a name in every server's certificate; empty means the host of each endpoint.
	serverName string
	// secrets have what a reader needs.
	secrets []secretKeys
	// maxSize of the data that a server may have, in bytes; 0 if nothing bounds it.
	maxSize int64
	// image and resources of a server.
	image     string
	resources corev1.ResourceRequirements
}

// secretKeys are the keys that are needed of one Secret.
type secretKeys struct {
	secret string
	keys   []string
}

// loginKeys are those of a Secret with a user and a password.
func loginKeys() []string { return []string{corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey} }
