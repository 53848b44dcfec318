package memcached

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

const (
	certificatesDir = "/etc/memcached-tls"
	// plaintextName is the name of the plaintext port in pods and Services.
	plaintextName = "plaintext"
	// annotationAuthorities rolls the pods when ca.crt changes: memcached adds authorities while it runs, and forgets
	// none.
	annotationAuthorities = "mainstay-operator.io/authorities"
)

func certificatesName(m *cachev1alpha1.Memcached) string { return m.Name + "-certificates" }

func serviceHost(m *cachev1alpha1.Memcached) string {
	return fmt.Sprintf("%s.%s.svc", m.Name, m.Namespace)
}

// plaintextPort is the port without TLS, next to the one with it; 0 when there is none.
func plaintextPort(m *cachev1alpha1.Memcached) int32 {
	if m.Spec.TLS == nil || m.Spec.TLS.Mode != cachev1alpha1.MemcachedTLSOptional {
		return 0
	}
	return m.Spec.TLS.PlaintextPort
}

// certificatesSecret is a copy of what the user's Secret says.
func certificatesSecret(m *cachev1alpha1.Memcached, i pki.Identity) *corev1ac.SecretApplyConfiguration {
	return secret(m, certificatesName(m), i.Data())
}

// tlsArguments makes spec.port speak TLS. The numbers are those of ssl_verify_mode.
func tlsArguments(m *cachev1alpha1.Memcached) (flags, options []string) {
	if m.Spec.TLS == nil {
		return nil, nil
	}
	if port := plaintextPort(m); port != 0 {
		flags = []string{"-l", fmt.Sprintf("*,notls:*:%d", port)}
	}
	verify := map[cachev1alpha1.MemcachedClientAuth]int{
		cachev1alpha1.MemcachedClientAuthRequest: 1,
		cachev1alpha1.MemcachedClientAuthRequire: 2,
	}[m.Spec.TLS.ClientAuth]
	return append(flags, "-Z"), []string{
		"ssl_chain_cert=" + path.Join(certificatesDir, corev1.TLSCertKey),
		"ssl_key=" + path.Join(certificatesDir, corev1.TLSPrivateKeyKey),
		"ssl_ca_cert=" + path.Join(certificatesDir, pki.CACertKey),
		fmt.Sprintf("ssl_verify_mode=%d", verify),
	}
}

// withTLS mounts the certificates into a pod, and rolls it when the authorities change.
func withTLS(m *cachev1alpha1.Memcached, i pki.Identity, template *corev1ac.PodTemplateSpecApplyConfiguration) {
	sum := sha256.Sum256(i.Authorities)
	template.WithAnnotations(map[string]string{annotationAuthorities: hex.EncodeToString(sum[:8])})
	mountSecret(template, "certificates", certificatesName(m), certificatesDir)
	if port := plaintextPort(m); port != 0 {
		template.Spec.Containers[0].WithPorts(containerPort(plaintextName, port))
	}
}

// servicePorts are the ports of both Services. They target a port by its name in the pod, so that a changed number is
// found both in pods that were replaced and in those still to be. While there is a plaintext port, they target by
// number: a pod from before TLS has its plaintext number under the name that now stands for TLS.
func servicePorts(m *cachev1alpha1.Memcached) []*corev1ac.ServicePortApplyConfiguration {
	port := plaintextPort(m)
	if port == 0 {
		return []*corev1ac.ServicePortApplyConfiguration{servicePort(portName, m.Spec.Port)}
	}
	return []*corev1ac.ServicePortApplyConfiguration{
		servicePort(portName, m.Spec.Port).WithTargetPort(intstr.FromInt32(m.Spec.Port)),
		servicePort(plaintextName, port).WithTargetPort(intstr.FromInt32(port)),
	}
}

func servicePort(name string, port int32) *corev1ac.ServicePortApplyConfiguration {
	return corev1ac.ServicePort().WithName(name).WithProtocol(corev1.ProtocolTCP).WithPort(port).WithTargetPort(intstr.FromString(name))
}

func containerPort(name string, port int32) *corev1ac.ContainerPortApplyConfiguration {
	return corev1ac.ContainerPort().WithName(name).WithContainerPort(port).WithProtocol(corev1.ProtocolTCP)
}
