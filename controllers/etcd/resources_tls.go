package etcd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/wire"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

const (
	// certificatesDir is where a pod finds the certificate that clients are shown.
	certificatesDir = "/etc/etcd/certificates"
	// annotationClientAuthorities tells of a pod whose certificates its etcd takes from clients. etcd reads that when it starts,
	// so others take new pods. What it shows itself it reads at each handshake.
	annotationClientAuthorities = "mainstay-operator.io/etcd-client-authorities"
)

func certificatesName(e *databasev1alpha1.EtcdCluster) string { return backup.CertificatesName(e.Name) }

// requiresCertificates reports whether each client shows a certificate.
func requiresCertificates(e *databasev1alpha1.EtcdCluster) bool {
	return e.Spec.TLS != nil && e.Spec.TLS.ClientAuth == databasev1alpha1.EtcdClientAuthRequired
}

// clientHosts are the names by which clients reach the members. A certificate names every member that there may be, so that more
// members need no other one.
func clientHosts(spec membership.Spec) []string {
	hosts := []string{spec.ServiceHost()}
	for ordinal := range int32(maxMembers) {
		hosts = append(hosts, spec.Host(spec.MemberName(ordinal)))
	}
	return hosts
}

// identityIn reads the identity from the user's Secret, or says what has to be mended. With clientAuth etcd's gateway for JSON
// shows the members' certificate to the member that it belongs to, as the operator does.
func identityIn(e *databasev1alpha1.EtcdCluster, spec membership.Spec, data map[string][]byte, now time.Time) (pki.Identity, string) {
	return pki.FromSecret(e.Spec.TLS.SecretName, data, clientHosts(spec), requiresCertificates(e), now)
}

// clientAuthorities names the authorities whose certificates a member that starts now takes from clients; empty if it asks for none.
func clientAuthorities(e *databasev1alpha1.EtcdCluster, i pki.Identity) string {
	if !requiresCertificates(e) {
		return ""
	}
	names := pki.Fingerprints(i.Authorities)
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ",")
}

func clientScheme(e *databasev1alpha1.EtcdCluster) string {
	if e.Spec.TLS != nil {
		return "https"
	}
	return "http"
}

// clientURL is where clients reach that host.
func clientURL(e *databasev1alpha1.EtcdCluster, host string) string {
	return fmt.Sprintf("%s://%s:%d", clientScheme(e), host, wire.ClientPort)
}

// clientTLSArguments are etcd's for its clients. With a trusted-ca-file it asks for certificates, whatever client-cert-auth says.
func clientTLSArguments(e *databasev1alpha1.EtcdCluster) []string {
	if e.Spec.TLS == nil {
		return nil
	}
	args := []string{
		"--cert-file=" + certificatesDir + "/" + corev1.TLSCertKey,
		"--key-file=" + certificatesDir + "/" + corev1.TLSPrivateKeyKey,
	}
	if requiresCertificates(e) {
		args = append(args, "--client-cert-auth", "--trusted-ca-file="+certificatesDir+"/"+pki.CACertKey)
	}
	return args
}

// certificatesSecret is a copy of the user's Secret, made when that is found fit: what happens to the original stops no member
// from starting.
func certificatesSecret(e *databasev1alpha1.EtcdCluster, i pki.Identity) *corev1ac.SecretApplyConfiguration {
	return newSecret(e, certificatesName(e), i.Data())
}

// withCertificates mounts the certificate into a pod, and rolls it when it is to take others' from clients.
func withCertificates(e *databasev1alpha1.EtcdCluster, i pki.Identity, template *corev1ac.PodTemplateSpecApplyConfiguration) {
	if names := clientAuthorities(e, i); names != "" {
		template.WithAnnotations(map[string]string{annotationClientAuthorities: names})
	}
	template.Spec.WithVolumes(corev1ac.Volume().WithName("certificates").WithSecret(corev1ac.SecretVolumeSource().
		WithSecretName(certificatesName(e)).WithDefaultMode(0o440)))
	template.Spec.Containers[0].WithVolumeMounts(
		corev1ac.VolumeMount().WithName("certificates").WithMountPath(certificatesDir).WithReadOnly(true))
}
