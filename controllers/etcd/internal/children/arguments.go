package children

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/wire"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/etcdtoken"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

const (
	// peersDir is where a pod finds the members' certificates.
	peersDir = "/etc/etcd/peers"
	// certificatesDir is where a pod finds the certificate that clients are shown.
	certificatesDir = "/etc/etcd/certificates"
	// tokensDir is where a pod finds the key of tokens.
	tokensDir = "/etc/etcd/tokens"
	// tokenLife is for how long members accept a token. Clients log in again by themselves.
	tokenLife = "5m"
	// corruptCheckTime is the time between two comparisons of all data by the leader. Each compaction compares the members,
	// too, a minute later.
	corruptCheckTime = "12h"
)

// arguments are etcd's, besides those of the permit: https://etcd.io/docs/v3.6/op-guide/configuration/
func arguments(in Inputs) []string {
	host := in.Spec.Host("$(POD_NAME)")
	args := []string{
		"/usr/local/bin/etcd",
		"--name=$(POD_NAME)",
		fmt.Sprintf("--listen-client-urls=%s://0.0.0.0:%d", in.Spec.ClientScheme(), wire.ClientPort),
		"--advertise-client-urls=" + in.Spec.ClientURL(host),
		fmt.Sprintf("--listen-peer-urls=https://0.0.0.0:%d", wire.PeerPort),
		"--initial-advertise-peer-urls=" + in.Spec.PeerURL("$(POD_NAME)"),
		fmt.Sprintf("--listen-metrics-urls=http://0.0.0.0:%d", wire.MetricsPort),
		"--peer-client-cert-auth",
		"--peer-trusted-ca-file=" + peersDir + "/ca.crt",
		"--peer-cert-file=" + peersDir + "/" + corev1.TLSCertKey,
		"--peer-key-file=" + peersDir + "/" + corev1.TLSPrivateKeyKey,
		"--peer-client-cert-file=" + peersDir + "/client.crt",
		"--peer-client-key-file=" + peersDir + "/client.key",
		fmt.Sprintf(config.QuotaArgument+"%d", quotaOfPods(in)),
	}
	args = append(append(args, clientTLSArguments(in)...), authArguments(in)...)
	args = append(args, snapshotArguments(in)...)
	if in.Version.Minor == 5 {
		args = append(args, "--experimental-compact-hash-check-enabled=true", "--experimental-corrupt-check-time="+corruptCheckTime)
	} else {
		args = append(args, "--feature-gates=CompactHashCheck=true", "--corrupt-check-time="+corruptCheckTime)
	}
	if a := in.Cluster.Spec.AutoCompaction; a != nil {
		modes := map[databasev1alpha1.EtcdCompactionMode]string{
			databasev1alpha1.EtcdPeriodic: "periodic", databasev1alpha1.EtcdRevision: "revision"}
		args = append(args, "--auto-compaction-mode="+modes[a.Mode], "--auto-compaction-retention="+a.Retention)
	}
	return args
}

// clientTLSArguments are etcd's for its clients. With a trusted-ca-file it asks for certificates, whatever client-cert-auth says.
func clientTLSArguments(in Inputs) []string {
	if in.Spec.TLS == nil {
		return nil
	}
	args := []string{
		"--cert-file=" + certificatesDir + "/" + corev1.TLSCertKey,
		"--key-file=" + certificatesDir + "/" + corev1.TLSPrivateKeyKey,
	}
	if in.Spec.RequiresCertificates() {
		args = append(args, "--client-cert-auth", "--trusted-ca-file="+certificatesDir+"/"+pki.CACertKey)
	}
	return args
}

// authArguments are etcd's for logins. Tokens that any member can check are signed by a key that all have.
func authArguments(in Inputs) []string {
	if !in.Spec.RequiresLogin {
		return nil
	}
	return []string{etcdtoken.Argument(tokensDir+"/"+config.TokenKeyFile, tokenLife)}
}
