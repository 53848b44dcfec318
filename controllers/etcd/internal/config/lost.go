package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

// CertificatesLost says to people that our own copy of the certificates is gone, and that members refuse what the user's Secret
// has in its place: its certificate is by an authority that their etcd did not read at its start. Handing it out would lock the
// operator out, as it could then ask no member whether another can be spared for a new pod.
func CertificatesLost(spec membership.Spec, pods []corev1.Pod, found pki.Identity, now time.Time) (step *membership.Step) {
	if !spec.RequiresCertificates() || found.IsEmpty() {
		return nil
	}
	var refusing []string
	for _, pod := range pods {
		if slices.ContainsFunc(pod.Status.ContainerStatuses, HasRun) && !acceptsFromClients(&pod, found, now) {
			refusing = append(refusing, pod.Name)
		}
	}
	if len(refusing) == 0 {
		return nil
	}
	slices.Sort(refusing)
	return &membership.Step{Do: membership.Block, Reason: commonv1.ReasonClientCertificatesLost, Message: fmt.Sprintf(
		"Secret %q, the members' copy of the certificates, is gone, and Secret %q has another authority, whose certificates %s refuse; "+
			"the members continue, and none that ends comes back: restore %q from a backup, or put a certificate by the former authority "+
			"into %q; else, with storage, delete all pods of the cluster, which serves no client until they are back with the other authority",
		spec.CertificatesName(), spec.TLS.SecretName, strings.Join(refusing, ", "), spec.CertificatesName(), spec.TLS.SecretName)}
}

// acceptsFromClients reports whether the etcd of a pod takes the identity's certificate from clients.
func acceptsFromClients(pod *corev1.Pod, i pki.Identity, now time.Time) bool {
	names := strings.Split(pod.Annotations[AnnotationClientAuthorities], ",")
	return pki.Identity{Authorities: pki.SelectAuthorities(i.Authorities, names)}.Trusts(i, now)
}

// TrustLost reports ErrTrustLost. Others would cut each member off from those that have not restarted yet, and the certificates that
// members have in their pods still work: it is for a human to choose the time.
func TrustLost(spec membership.Spec) *membership.Step {
	return &membership.Step{Do: membership.Block, Reason: commonv1.ReasonPeerSecretsLost, Message: fmt.Sprintf(
		"the Secrets %q and %q, by which the members trust each other, are gone or damaged; the members continue, and none that ends comes "+
			"back: restore either from a backup; else, with storage, delete what is left of both and all pods of the cluster, which takes no "+
			"writes until they are back; without storage, save the data with etcdctl snapshot save, and make a new EtcdCluster",
		spec.PeersName(), spec.AuthorityName())}
}
