package etcd

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

// object is one EtcdCluster in one pass: what the API server has of it, and what the operator remembers.
type object struct {
	*Reconciler
	cluster *databasev1alpha1.EtcdCluster
	spec    membership.Spec
	// known is what earlier passes over the object have left.
	known *objectMemory
	// in is what the API server has of the object. readInputs fills it in.
	in inputs
}

// inputs are what the API server has of an object, by the caches.
type inputs struct {
	set  *appsv1.StatefulSet // empty when there is none or it is not ours
	pods []corev1.Pod
	// formerPods are other pods under our labels that have a member's name: those of a former object of this name.
	formerPods []string
	fetches    []corev1.Pod                             // that have fetched backups
	requests   []databasev1alpha1.EtcdRestore           // of this cluster, the oldest first
	backups    []databasev1alpha1.EtcdBackup            // in the namespace, by name
	claims     map[string]*corev1.PersistentVolumeClaim // by the pod's name
	// peers are the certificates to publish now; peersChange says why they are others than before.
	peers       config.PeerCertificates
	peersChange string
	// lost says what must be repaired before anything is written; nil if there is nothing.
	lost *membership.Step
	// certificates are those that clients are shown, with tls.
	certificates pki.Certificates
	// logins are who may log in, with auth.
	logins config.Logins
}

// recallTemplate has the pods of a StatefulSet that is being recreated say what it was made from.
func (i *inputs) recallTemplate() {
	if i.set.UID == "" && len(i.pods) > 0 {
		i.set.Spec.Template = converge.TemplateOf(&i.pods[0])
	}
}

// allPods are those of the members and of backups.
func (i *inputs) allPods() []corev1.Pod {
	return slices.Concat(i.fetches, i.pods)
}
