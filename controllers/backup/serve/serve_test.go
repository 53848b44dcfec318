package serve

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

// peers are the certificates of one etcd's members.
type peers struct{ authority pki.Authority }

func newPeers(t *testing.T) peers {
	t.Helper()
	authority, err := pki.NewAuthority("peers", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return peers{authority}
}

// write puts a certificate for a server into the directory, as the members' Secret has it.
func (p peers) write(t *testing.T, dir string) {
	t.Helper()
	certificate, key, err := p.authority.Issue("member", []string{"a-0.a-headless.ns.svc"}, time.Now())
	err = errors.Join(err, os.WriteFile(dir+"/ca.crt", p.authority.Certificate, 0o600),
		os.WriteFile(dir+"/tls.crt", certificate, 0o600), os.WriteFile(dir+"/tls.key", key, 0o600))
	if err != nil {
		t.Fatal(err)
	}
}

// member is a client with a certificate of these peers, that trusts those.
func (p peers) member(t *testing.T, trusts peers) *http.Client {
	t.Helper()
	certificate, key, err := p.authority.Issue("member", nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	own, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	client := trusts.stranger()
	client.Transport.(*http.Transport).TLSClientConfig.Certificates = []tls.Certificate{own}
	return client
}

// stranger is a client without a certificate that trusts these peers.
func (p peers) stranger() *http.Client {
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(p.authority.Certificate)
	return &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{RootCAs: trusted, ServerName: "a-0.a-headless.ns.svc", MinVersion: tls.VersionTLS12}}}
}

// serving is a pod that serves; stop ends it and returns its error.
func serving(t *testing.T, p peers) (url, dir string, stop func() error) {
	t.Helper()
	dir = t.TempDir()
	p.write(t, dir)
	if err := errors.Join(os.WriteFile(dir+"/data", []byte("data"), 0o600),
		os.WriteFile(dir+"/manifest.json", []byte("{}"), 0o600)); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- Options{Peers: dir, Manifest: dir + "/manifest.json", Data: dir + "/data"}.serve(ctx, listener)
	}()
	return "https://" + listener.Addr().String(), dir, func() error { end(); return <-ended }
}

func get(client *http.Client, url string) (string, int, error) {
	response, err := client.Get(url)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return string(body), response.StatusCode, err
}

func TestOnlyMembersGetTheBackup(t *testing.T) {
	ours, others := newPeers(t), newPeers(t)
	url, _, stop := serving(t, ours)
	for _, c := range []struct {
		name   string
		client *http.Client
		path   string
		want   string
		status int // 0: refused
	}{
		{"the data to a member", ours.member(t, ours), backup.DataPath, "data", http.StatusOK},
		{"the manifest to a member", ours.member(t, ours), backup.ManifestPath, "{}", http.StatusOK},
		{"nothing else", ours.member(t, ours), "/tls.key", "404 page not found\n", http.StatusNotFound},
		{"nothing to a client without a certificate", ours.stranger(), backup.DataPath, "", 0},
		{"nothing to a member of another cluster", others.member(t, ours), backup.DataPath, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, status, err := get(c.client, url+c.path)
			if got != c.want || status != c.status || (err != nil) != (c.status == 0) {
				t.Errorf("got %q, %d, %v", got, status, err)
			}
		})
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestARenewedAuthorityIsTakenWhileItServes(t *testing.T) {
	before, after := newPeers(t), newPeers(t)
	url, dir, stop := serving(t, before)
	if _, _, err := get(before.member(t, before), url+backup.DataPath); err != nil {
		t.Fatal(err)
	}
	after.write(t, dir)
	if _, _, err := get(after.member(t, after), url+backup.DataPath); err != nil {
		t.Error(err)
	}
	if _, _, err := get(before.member(t, after), url+backup.DataPath); err == nil {
		t.Error("the former authority's certificates are taken")
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestWhatWasNotFetchedIsNotThere(t *testing.T) {
	ours := newPeers(t)
	url, dir, stop := serving(t, ours)
	if err := os.Remove(dir + "/data"); err != nil {
		t.Fatal(err)
	}
	if _, status, err := get(ours.member(t, ours), url+backup.DataPath); status != http.StatusNotFound || err != nil {
		t.Errorf("got %d, %v", status, err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if err := Run(t.Context(), Options{Address: "nowhere"}); err == nil {
		t.Error("it serves nowhere")
	}
}
