package launcher

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mainstay-operator/mainstay-operator/controllers/backup/serve"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

// The launcher reads a manifest and asks for paths by names of its own, to import little.
func TestTheManifestIsThatOfBackups(t *testing.T) {
	text, _ := json.Marshal(backup.Manifest{Item: "i", SHA256: "s", RawSize: 3, RawSHA256: "r"})
	var got manifest
	if err := json.Unmarshal(text, &got); err != nil || got != (manifest{"i", "s", 3, "r"}) {
		t.Errorf("got %+v, %v", got, err)
	}
	if manifestPath != backup.ManifestPath || dataPath != backup.DataPath || manifestLimit != backup.MaxManifest {
		t.Error("the server has other paths")
	}
}

// A member gets the backup by the certificates that its peers know it by, from an address that they do not name.
func TestAMemberGetsTheBackupByItsPeersCertificates(t *testing.T) {
	dir := t.TempDir()
	authority, err := pki.NewAuthority("peers", time.Now())
	server, serverKey, err2 := authority.Issue("member", []string{"a-0.a-headless.ns.svc", "a-1.a-headless.ns.svc"}, time.Now())
	client, clientKey, err3 := authority.Issue("member", nil, time.Now())
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string][]byte{"ca.crt": authority.Certificate, "tls.crt": server, "tls.key": serverKey,
		"client.crt": client, "client.key": clientKey, "data": []byte("data")} {
		if err := os.WriteFile(dir+"/"+file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := []string{"etcd", "--initial-advertise-peer-urls=https://a-1.a-headless.ns.svc:2380",
		"--peer-trusted-ca-file=" + dir + "/ca.crt",
		"--peer-client-cert-file=" + dir + "/client.crt", "--peer-client-key-file=" + dir + "/client.key"}
	address := loopback(3) + ":8443" // which no other test has
	served := make(chan error, 1)
	go func() {
		served <- serve.Run(t.Context(), serve.Options{Address: address, Peers: dir, Manifest: dir + "/none", Data: dir + "/data"})
	}()
	t.Cleanup(func() {
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	url := "https://" + address
	http, err := backupClient(command, url)
	if err != nil {
		t.Fatal(err)
	}
	var got []byte
	read := func(body io.Reader) (err error) { got, err = io.ReadAll(body); return err }
	await(t, "it serves", func() bool { return get(http, url+dataPath, 100, read) == nil })
	if string(got) != "data" {
		t.Errorf("got %q", got)
	}
	if err := get(http, url+dataPath, 3, read); err != nil || string(got) != "dat" {
		t.Errorf("it reads beyond the limit: %q, %v", got, err)
	}
	if err := get(http, url+manifestPath, 100, read); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("got %v", err)
	}
}

func TestNoOneElseHandsOutTheBackup(t *testing.T) {
	stranger := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(stranger.Close)
	authority, err := pki.NewAuthority("peers", time.Now())
	client, clientKey, err2 := authority.Issue("member", nil, time.Now())
	dir := t.TempDir()
	err = errors.Join(err, err2, os.WriteFile(dir+"/ca.crt", authority.Certificate, 0o600),
		os.WriteFile(dir+"/client.crt", client, 0o600), os.WriteFile(dir+"/client.key", clientKey, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	command := []string{"etcd", "--initial-advertise-peer-urls=https://a-1.a-headless.ns.svc:2380",
		"--peer-trusted-ca-file=" + dir + "/ca.crt",
		"--peer-client-cert-file=" + dir + "/client.crt", "--peer-client-key-file=" + dir + "/client.key"}
	asks, err := backupClient(command, stranger.URL)
	if err != nil {
		t.Fatal(err)
	}
	err = get(asks, stranger.URL+dataPath, 100, func(io.Reader) error { return nil })
	if refused := (*tls.CertificateVerificationError)(nil); !errors.As(err, &refused) {
		t.Errorf("got %v", err)
	}
}
