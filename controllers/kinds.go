package controllers

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/api"
	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/activity"
	"github.com/mainstay-operator/mainstay-operator/controllers/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/easyservice"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcdrestore"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/memcached"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis"
)

// kinds are all that this operator reconciles. The caches, the health checks and the setup read them here.
var kinds = []kind{
	{&appv1.EasyService{}, easyservice.Owned, func(s shared) reconciler {
		return &easyservice.Reconciler{Converger: s.converger("easyservice"), Secrets: s.secrets, ConfigMaps: s.configMaps}
	}},
	{&egov1.Activity{}, nil, func(s shared) reconciler {
		return &activity.Reconciler{Converger: s.converger("activity"), Users: s.configMaps, DefaultImage: s.images.Activity,
			GuardImage: s.images.Operator}
	}},
	{&cachev1alpha1.Memcached{}, memcached.Owned, func(s shared) reconciler {
		return &memcached.Reconciler{Converger: s.converger("memcached"), Secrets: converge.NewUserSecrets(s.secrets),
			DefaultImage: s.images.Memcached, ExporterImage: s.images.MemcachedExporter}
	}},
	{&cachev1alpha1.Redis{}, redis.Owned, func(s shared) reconciler {
		return &redis.Reconciler{Converger: s.converger("redis"), Secrets: converge.NewUserSecrets(s.secrets),
			DefaultImages: map[cachev1alpha1.RedisFlavor]string{
				cachev1alpha1.FlavorRedis: s.images.Redis, cachev1alpha1.FlavorValkey: s.images.Valkey}, OperatorImage: s.images.Operator}
	}},
	{&databasev1alpha1.EtcdCluster{}, etcd.Owned, func(s shared) reconciler {
		return &etcd.Reconciler{Converger: s.converger("etcd"), Secrets: converge.NewUserSecrets(s.secrets),
			DefaultImages: s.images.Etcd[:], LauncherImage: s.images.Operator}
	}},
	{&databasev1alpha1.EtcdBackup{}, nil, func(s shared) reconciler {
		return &backup.Reconciler{Converger: s.converger("etcdbackup"), Kind: backup.Etcd(), Image: s.images.Operator, Cluster: s.cluster}
	}},
	{&cachev1alpha1.RedisBackup{}, nil, func(s shared) reconciler {
		return &backup.Reconciler{Converger: s.converger("redisbackup"), Kind: backup.Redis(), Image: s.images.Operator, Cluster: s.cluster}
	}},
	{&databasev1alpha1.EtcdRestore{}, nil, func(s shared) reconciler {
		return &etcdrestore.Reconciler{Converger: s.converger("etcdrestore")}
	}},
}

// Objects returns an empty object of each kind, for what must know all of them.
func Objects() []client.Object {
	list := make([]client.Object, 0, len(kinds))
	for _, k := range kinds {
		list = append(list, k.object.DeepCopyObject().(client.Object))
	}
	return list
}

// Children returns an empty object of each type that any kind makes children of, by Converge.
func Children() []client.Object {
	var list []client.Object
	for _, k := range kinds {
		for _, child := range k.owned {
			if !slices.ContainsFunc(list, func(known client.Object) bool { return reflect.TypeOf(known) == reflect.TypeOf(child) }) {
				list = append(list, child.DeepCopyObject().(client.Object))
			}
		}
	}
	return list
}

// kind is one of them.
type kind struct {
	object        client.Object
	owned         []client.Object // the types of its children
	newReconciler func(shared) reconciler
}

// reconciler reconciles the objects of one kind.
type reconciler interface {
	SetupWithManager(mgr ctrl.Manager) error
}

// shared is what the reconcilers of all kinds are made of.
type shared struct {
	converger           func(name string) converge.Converger
	secrets, configMaps converge.ContentReader
	images              Images
	cluster             string // as in backup.Reconciler.Cluster
}

// AddToScheme adds every type that the operator reads or writes.
func AddToScheme(scheme *runtime.Scheme) error {
	err := errors.Join(clientgoscheme.AddToScheme(scheme), operatorsv2.AddToScheme(scheme), api.AddToScheme(scheme))
	if err != nil {
		return fmt.Errorf("adding types to the scheme: %w", err)
	}
	return nil
}
