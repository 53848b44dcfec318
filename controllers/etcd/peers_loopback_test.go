package etcd

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/wire"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

// peerAddress is one that no other test uses.
const peerAddress = "127.0.31.1"

// startPeer runs a real etcd with the arguments that a pod has for its peers, and the files in that folder.
func startPeer(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	program, err := filepath.Abs("../../.bin/etcd")
	if err != nil {
		t.Fatal(err)
	}
	peer := fmt.Sprintf("https://%s:%d", peerAddress, wire.PeerPort)
	args := []string{"--name=e-0", "--data-dir=" + t.TempDir(), "--log-level=error",
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=e-0=" + peer,
		"--listen-client-urls=http://" + peerAddress + ":2379", "--advertise-client-urls=http://" + peerAddress + ":2379"}
	e := &databasev1alpha1.EtcdCluster{}
	for _, argument := range argumentsOf(t, e) {
		if strings.HasPrefix(argument, "--peer-") {
			args = append(args, strings.ReplaceAll(argument, "/etc/etcd/peers", dir))
		}
	}
	etcd := exec.Command(program, args...) //nolint:gosec // our own program
	etcd.Stderr = os.Stderr
	if err := etcd.Start(); err != nil {
		t.Fatalf("%v; `go run -C hack/cluster . assets` builds it", err)
	}
	t.Cleanup(func() { _ = etcd.Process.Kill() })
	return etcd
}

// shown connects as another member does with these certificates, and returns the certificate that the member shows.
func shown(t *testing.T, as config.PeerCertificates) (*x509.Certificate, error) {
	t.Helper()
	data := as.PeersData()
	identity := pki.Identity{Certificate: data[config.ClientCertKey], Key: data[config.ClientKeyKey], Authorities: data[pki.CACertKey]}
	secure, err := identity.TLSConfig(peersSpec.Host("e-0"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	connection, err := tls.Dial("tcp", fmt.Sprintf("%s:%d", peerAddress, wire.PeerPort), secure)
	if err != nil {
		return nil, err
	}
	defer func() { _ = connection.Close() }()
	_, err = fmt.Fprintf(connection, "GET /version HTTP/1.0\r\n\r\n") // a certificate is refused after the handshake
	if err == nil {
		_, err = connection.Read(make([]byte, 1))
	}
	return connection.ConnectionState().PeerCertificates[0], err
}

// The steps of PeerCertificates.Next depend on this: etcd reads what it shows at each handshake, and whom it trusts only at its start.
func TestEtcdReadsCertificatesAtEachHandshake(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	write := func(c config.PeerCertificates) {
		for key, value := range c.PeersData() {
			if err := os.WriteFile(filepath.Join(dir, key), value, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	first, _ := nextPeers(t, config.PeerCertificates{}, now.Add(-300*24*time.Hour))
	write(first)
	etcd := startPeer(t, dir)
	awaitPeer(t, first)

	renewed, _ := nextPeers(t, first, now)
	write(renewed)
	served := renewed.PeersData()
	if leaf, err := shown(t, first); err != nil || !leaf.Equal(pki.ParsePair(served[corev1.TLSCertKey], served[corev1.TLSPrivateKeyKey])) {
		t.Errorf("it does not show the renewed certificate: %v", err)
	}

	both, _ := nextPeers(t, config.PeerCertificatesIn(nil, served), now) // the authority is lost
	next, _ := nextPeers(t, both, now)
	write(both)
	if _, err := shown(t, next); err == nil {
		t.Error("it trusts the new authority before it restarts: no pods need to be replaced")
	}
	_ = etcd.Process.Kill()
	_ = etcd.Wait()
	startPeer(t, dir)
	awaitPeer(t, next)
}

// awaitPeer returns when the member takes the certificates.
func awaitPeer(t *testing.T, c config.PeerCertificates) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if _, err = shown(t, c); err == nil {
			return
		}
	}
	t.Fatal(errors.Join(errors.New("it takes no connection"), err))
}
