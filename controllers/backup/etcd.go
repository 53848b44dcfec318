package backup

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

// etcdPort is where each member of an EtcdCluster serves clients.
const etcdPort = 2379

// Etcd is the kind EtcdBackup.
func Etcd() Kind {
	return Kind{
		gvk:        databasev1alpha1.GroupVersion.WithKind("EtcdBackup"),
		server:     backup.Etcd,
		appName:    "etcdbackup",
		newObject:  func() client.Object { return &databasev1alpha1.EtcdBackup{} },
		newSource:  func() client.Object { return &databasev1alpha1.EtcdCluster{} },
		newList:    func() client.ObjectList { return &databasev1alpha1.EtcdBackupList{} },
		readSource: readEtcdSource,
	}
}

func readEtcdSource(ctx context.Context, reader client.Reader, key types.NamespacedName) (source, string, error) {
	var e databasev1alpha1.EtcdCluster
	if err := reader.Get(ctx, key, &e); err != nil {
		return source{}, missing("EtcdCluster", key.Name, err), client.IgnoreNotFound(err)
	}
	found, notReady := etcdSource(&e)
	return found, notReady, nil
}

// etcdSource names all members: the runner finds out which one is to be read.
func etcdSource(e *databasev1alpha1.EtcdCluster) (source, string) {
	what := fmt.Sprintf("EtcdCluster %q ", e.Name)
	switch {
	case !e.DeletionTimestamp.IsZero():
		return source{}, what + "is being deleted"
	case e.Status.Membership == nil || e.Status.Membership.ClusterID == "" || len(e.Status.Membership.Members) == 0 ||
		e.Status.TargetImage == "":
		return source{}, what + "has no members yet"
	case !meta.IsStatusConditionTrue(e.Status.Conditions, commonv1.ConditionAvailable):
		return source{}, what + unavailable(e.Status.Conditions)
	}
	found := source{kind: "EtcdCluster", uid: e.UID, clusterID: e.Status.Membership.ClusterID,
		tls: e.Spec.TLS != nil, image: e.Status.TargetImage, resources: e.Spec.Resources}
	if e.Spec.Quota != nil {
		found.maxSize = parts.Bytes(*e.Spec.Quota)
	}
	for _, m := range e.Status.Membership.Members {
		found.endpoints = append(found.endpoints, endpoint(m.Name, e.Name, e.Namespace, etcdPort))
	}
	slices.Sort(found.endpoints)
	if found.tls {
		found.secrets = []secretKeys{{backup.CertificatesName(e.Name), []string{pki.CACertKey, corev1.TLSCertKey, corev1.TLSPrivateKeyKey}}}
	}
	if e.Spec.Auth != nil {
		found.secrets = append(found.secrets, secretKeys{backup.EtcdSecretName(e.Name), loginKeys()})
	}
	return found, ""
}

// endpoint is where a pod of a StatefulSet is reached: certificates name it so.
func endpoint(pod, statefulSet, namespace string, port int) string {
	return fmt.Sprintf("%s.%s-headless.%s.svc:%d", pod, statefulSet, namespace, port)
}

func missing(kind, name string, err error) string {
	if apierrors.IsNotFound(err) {
		return fmt.Sprintf("%s %q does not exist", kind, name)
	}
	return ""
}
