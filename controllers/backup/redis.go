package backup

import (
	"context"
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

const (
	// redisPort is where each server of a Redis listens.
	redisPort = 6379
	// redisContainer is the container of a Redis' pods that runs the server.
	redisContainer = "redis"
)

// Redis is the kind RedisBackup.
func Redis() Kind {
	return Kind{
		gvk:        cachev1alpha1.GroupVersion.WithKind("RedisBackup"),
		server:     backup.Redis,
		appName:    "redisbackup",
		newObject:  func() client.Object { return &cachev1alpha1.RedisBackup{} },
		newSource:  func() client.Object { return &cachev1alpha1.Redis{} },
		newList:    func() client.ObjectList { return &cachev1alpha1.RedisBackupList{} },
		readSource: readRedisSource,
	}
}

func readRedisSource(ctx context.Context, reader client.Reader, key types.NamespacedName) (source, string, error) {
	var r cachev1alpha1.Redis
	if err := reader.Get(ctx, key, &r); err != nil {
		return source{}, missing("Redis", key.Name, err), client.IgnoreNotFound(err)
	}
	var set appsv1.StatefulSet
	if err := reader.Get(ctx, key, &set); client.IgnoreNotFound(err) != nil {
		return source{}, "", err
	}
	found, notReady := redisSource(&r, &set)
	return found, notReady, nil
}

// redisSource names all nodes: the runner finds out which one is to be read. set is that of the Redis; it is empty if there is none.
func redisSource(r *cachev1alpha1.Redis, set *appsv1.StatefulSet) (source, string) {
	image := ""
	if metav1.IsControlledBy(set, r) {
		image = parts.RunningImage(set.Spec.Template.Spec.Containers, redisContainer, "")
	}
	what := fmt.Sprintf("Redis %q ", r.Name)
	switch {
	case !r.DeletionTimestamp.IsZero():
		return source{}, what + "is being deleted"
	case image == "" || len(r.Status.Nodes) == 0:
		return source{}, what + "has no nodes yet"
	case !meta.IsStatusConditionTrue(r.Status.Conditions, commonv1.ConditionAvailable):
		return source{}, what + unavailable(r.Status.Conditions)
	case r.Status.Replication == nil:
		return source{}, what + "has no recorded master yet"
	}
	var volume resource.Quantity
	if r.Spec.Storage != nil {
		volume = r.Spec.Storage.Size
	}
	found := source{kind: "Redis", uid: r.UID, replicationID: r.Status.Replication.ReplID, dataset: dataset(r.Status.DatasetEpoch),
		size: ptr.Deref(r.Spec.Size, cachev1alpha1.RedisDefaultSize), tls: r.Spec.TLS != nil, image: image, resources: r.Spec.Resources,
		maxSize: backup.MaxRedisSize(volume, r.Spec.Resources)}
	for _, n := range r.Status.Nodes {
		found.endpoints = append(found.endpoints, endpoint(n.Name, r.Name, r.Namespace, redisPort))
	}
	login := secretKeys{backup.RedisSecretName(r.Name), append(loginKeys(), backup.SourceUIDKey)}
	if found.tls {
		login.keys = append(login.keys, pki.CACertKey)
		found.serverName = fmt.Sprintf("%s.%s.svc", r.Name, r.Namespace) // of the Service: certificates need not name single pods
	}
	found.secrets = []secretKeys{login}
	if found.tls && r.Spec.TLS.ClientAuth == cachev1alpha1.RedisClientAuthRequired { // a server then accepts only clients with a certificate
		found.secrets = append(found.secrets, secretKeys{backup.CertificatesName(r.Name), []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey}})
	}
	return found, ""
}

// dataset names the data set of a Redis that started in that epoch. The first one has no name, as in backups of earlier releases.
func dataset(epoch int64) string {
	if epoch == 0 {
		return ""
	}
	return strconv.FormatInt(epoch, 10)
}

// unavailable says that the source is not available, in the words of its own condition.
func unavailable(list []metav1.Condition) string {
	if c := meta.FindStatusCondition(list, commonv1.ConditionAvailable); c != nil && c.Message != "" {
		return "is not available: " + c.Message
	}
	return "is not available"
}
