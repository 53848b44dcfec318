package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/mainstay-operator/mainstay-operator/test/authority"
)

// A cluster is thrown away long before its certificates end.
const certificateLife = 10 * 365 * 24 * time.Hour

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

// issue makes an authority, and what it signs.
func issue(dir, name string, subjects []subject) error {
	ca := authority.New("mainstay-cluster "+name, extend)
	if err := writePair(dir, name, ca.PEM(), ca.Key()); err != nil {
		return err
	}
	for _, s := range subjects {
		pair := ca.Issue(s.name, extend, s.describe)
		if err := writePair(dir, s.file, pair["tls.crt"], pair["tls.key"]); err != nil {
			return err
		}
	}
	return nil
}

func extend(c *x509.Certificate) { c.NotAfter = time.Now().Add(certificateLife) }

// describe has a certificate say whom it is for.
func (s subject) describe(c *x509.Certificate) {
	if s.group != "" {
		c.Subject.Organization = []string{s.group}
	}
	if len(s.hosts) == 0 {
		c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	}
	c.DNSNames = nil
	for _, host := range s.hosts {
		if ip := net.ParseIP(host); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, host)
		}
	}
}

func writePair(dir, name string, certificate, key []byte) error {
	if err := os.WriteFile(filepath.Join(dir, name+".crt"), certificate, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name+".key"), key, 0o600)
}

// serviceAccountKey is what the tokens of pods are signed with.
func serviceAccountKey(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	return errors.Join(writePEM(filepath.Join(dir, "sa.key"), "PRIVATE KEY", private),
		writePEM(filepath.Join(dir, "sa.pub"), "PUBLIC KEY", public))
}

func writePEM(path, blockType string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: blockType, Bytes: der}), 0o600)
}
