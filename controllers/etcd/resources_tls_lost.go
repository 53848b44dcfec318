package etcd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

// certificatesLost says to people that our own copy of the certificates is gone, and that members refuse what the user's Secret
// has in its place: its certificate is by an authority that their etcd did not read at its start. Handing it out would lock the
// operator out, as it could then ask no member whether another can be spared for a new pod.
func certificatesLost(e *databasev1alpha1.EtcdCluster, pods []corev1.Pod, found pki.Identity, now time.Time) (step *membership.Step) {
	if !requiresCertificates(e) || found.IsEmpty() {
		return nil
	}
	var refusing []string
	for _, pod := range pods {
		if slices.ContainsFunc(pod.Status.ContainerStatuses, hasRun) && !takesFromClients(&pod, found, now) {
			refusing = append(refusing, pod.Name)
		}
	}
	if len(refusing) == 0 {
		return nil
	}
	slices.Sort(refusing)
	return &membership.Step{Do: membership.Block, Reason: commonv1.ReasonClientCertificatesLost, Message: fmt.Sprintf(
		"Secret %q, the members' copy of the certificates, is gone, and Secret %q has another authority, whose certificates %s refuse; the "+
			"members go on, and none that ends comes back: restore %q from a backup, or put a certificate by the former authority into %q; else, "+
			"with storage, delete all pods of the cluster, which serves nobody until they are back with the other authority",
		certificatesName(e), e.Spec.TLS.SecretName, strings.Join(refusing, ", "), certificatesName(e), e.Spec.TLS.SecretName)}
}

// takesFromClients reports whether the etcd of a pod takes the identity's certificate from clients.
func takesFromClients(pod *corev1.Pod, i pki.Identity, now time.Time) bool {
	names := strings.Split(pod.Annotations[annotationClientAuthorities], ",")
	return pki.Identity{Authorities: pki.SelectAuthorities(i.Authorities, names)}.Trusts(i, now)
}
