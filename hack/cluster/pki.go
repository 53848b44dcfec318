package main

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// A cluster is thrown away long before its certificates end.
const certificateLife = 10 * 365 * 24 * time.Hour

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// subject is whom a certificate is for: a user of the API, or a server.
type subject struct {
	file  string
	name  string
	group string
	hosts []string
}

// clusterSubjects are signed by the cluster's own authority. The users'
// names are those that Kubernetes' built-in roles are bound to.
var clusterSubjects = []subject{
	{file: "apiserver", name: "kube-apiserver", hosts: []string{
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		"localhost", "127.0.0.1", nodeAddress, firstService,
	}},
	{file: "kubelet", name: nodeName, hosts: []string{nodeName, nodeAddress}},
	{file: "apiserver-kubelet-client", name: "kube-apiserver", group: "system:masters"},
	{file: "admin", name: "kubernetes-admin", group: "system:masters"},
	{file: "controller-manager", name: "system:kube-controller-manager"},
	{file: "scheduler", name: "system:kube-scheduler"},
	{file: "node", name: "system:node:" + nodeName, group: "system:nodes"},
	{file: "proxy", name: "system:kube-proxy"},
	{file: "dns", name: "mainstay-cluster:dns"},
	{file: "volumes", name: "mainstay-cluster:volumes"},
}

// ensurePKI makes all keys and certificates once. They appear under their
// final name only when all of them are there.
func ensurePKI(_ context.Context, l layout) error {
	if _, err := os.Stat(l.state("pki")); err == nil {
		return nil
	}
	fresh := l.state("pki.new")
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	if err := os.MkdirAll(fresh, 0o700); err != nil {
		return err
	}
	for _, chain := range []struct {
		authority string
		subjects  []subject
	}{
		{"ca", clusterSubjects},
		{"front-proxy-ca", []subject{{file: "front-proxy-client", name: "front-proxy-client"}}},
		{"etcd-ca", []subject{
			{file: "etcd", name: "etcd", hosts: []string{"localhost", "127.0.0.1"}},
			{file: "apiserver-etcd-client", name: "kube-apiserver"},
		}},
	} {
		if err := issue(fresh, chain.authority, chain.subjects); err != nil {
			return err
		}
	}
	if err := serviceAccountKey(fresh); err != nil {
		return err
	}
	return os.Rename(fresh, l.state("pki"))
}

func issue(dir, name string, subjects []subject) error {
	ca, err := newAuthority(dir, name)
	if err != nil {
		return err
	}
	for _, s := range subjects {
		if err := ca.sign(dir, s); err != nil {
			return err
		}
	}
	return nil
}

func newAuthority(dir, name string) (authority, error) {
	template := certificate(pkix.Name{CommonName: "mainstay-cluster " + name})
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authority{}, err
	}
	if err := writePair(dir, name, template, template, key, key); err != nil {
		return authority{}, err
	}
	return authority{cert: template, key: key}, nil
}

func (a authority) sign(dir string, s subject) error {
	name := pkix.Name{CommonName: s.name}
	if s.group != "" {
		name.Organization = []string{s.group}
	}
	template := certificate(name)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if len(s.hosts) > 0 {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	for _, host := range s.hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	return writePair(dir, s.file, template, a.cert, key, a.key)
}

func certificate(name pkix.Name) *x509.Certificate {
	serial := make([]byte, 16)
	_, _ = rand.Read(serial) // never fails
	return &x509.Certificate{
		Subject:      name,
		SerialNumber: new(big.Int).SetBytes(serial),
		NotBefore:    time.Now().Add(-time.Hour), // clocks differ
		NotAfter:     time.Now().Add(certificateLife),
	}
}

func writePair(dir, name string, template, parent *x509.Certificate, key, signer crypto.Signer) error {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return err
	}
	if err := writePEM(filepath.Join(dir, name+".crt"), "CERTIFICATE", der); err != nil {
		return err
	}
	return writeKey(filepath.Join(dir, name+".key"), key)
}

func writeKey(path string, key crypto.Signer) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(path, "PRIVATE KEY", der)
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

// serviceAccountKey is what the tokens of pods are signed with.
func serviceAccountKey(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	if err := writeKey(filepath.Join(dir, "sa.key"), key); err != nil {
		return err
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	return writePEM(filepath.Join(dir, "sa.pub"), "PUBLIC KEY", der)
}
