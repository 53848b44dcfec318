package launcher

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
)

func TestAMemberJoinsAsTheOneThatWasAdded(t *testing.T) {
	const added = `{"id":26,"peerURLs":["http://own"],"isLearner":true}`
	for _, c := range []struct {
		name     string
		memberID string
		volume   string
		peers    []string // what they answer
		want     string   // part of the error; empty for none
	}{
		{"the one that was added", "1a", "d", []string{added}, ""},
		{"next to others", "1a", "d", []string{`{"id":1,"name":"a","peerURLs":["http://a"]},` + added}, ""},
		{"one that is silent is not needed", "1a", "d", []string{"", added}, ""},
		{"no one answers", "1a", "d", []string{"", ""}, "no peer reports the list of members"},
		{"it has no peer", "1a", "d", nil, "no peer answers"},
		{"another was added in its place", "1a", "d", []string{`{"id":27,"peerURLs":["http://own"]}`}, "member 1b has the place of member 1a"},
		{"a peer that lags", "1a", "d", []string{added, `{"id":1,"name":"a","peerURLs":["http://a"]}`}, "it does not list member 1a"},
		{"it has started before", "1a", "d", []string{`{"id":26,"name":"own","peerURLs":["http://own"]}`}, "d"},
		{"with a log it continues", "1a", "d/member/wal/0.wal", []string{`{"id":26,"name":"own","peerURLs":["http://own"]}`}, ""},
		{"one that forms the cluster asks no one", "", "d", nil, ""},
		{"an answer that is none", "1a", "d", []string{"}"}, "no peer reports the list of members"},
	} {
		t.Run(c.name, func(t *testing.T) {
			permit := Permit{Data: "d", MemberID: c.memberID, InitialCluster: []string{"own=http://own"}}
			for i, list := range c.peers {
				peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path != "/members" || list == "" {
						w.WriteHeader(http.StatusNotFound)
					}
					_, _ = fmt.Fprintf(w, "[%s]", list)
				}))
				t.Cleanup(peer.Close)
				permit.InitialCluster = append(permit.InitialCluster, "p"+strconv.Itoa(i)+"="+peer.URL)
			}
			dir := newPod(t, permit)
			if err := os.MkdirAll(dir+"/data/"+c.volume, 0o700); err != nil {
				t.Fatal(err)
			}
			err := mayJoin([]string{"etcd", "--initial-advertise-peer-urls=http://own"}, permit, pathsIn(dir))
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || isLost(err) != (c.want == "d") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// freePort is one that no one listens on.
func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return port
}

// encrypt has a member speak with its peers by TLS, as the operator has it.
func (r *realEtcd) encrypt(t *testing.T, name string) {
	t.Helper()
	dir := t.TempDir()
	authority, err := pki.NewAuthority("peers", time.Now())
	server, serverKey, err2 := authority.Issue("member", []string{"localhost"}, time.Now())
	client, clientKey, err3 := authority.Issue("member", nil, time.Now())
	if err = errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string][]byte{
		"ca.crt": authority.Certificate, "tls.crt": server, "tls.key": serverKey, "client.crt": client, "client.key": clientKey,
	} {
		if err := os.WriteFile(dir+"/"+file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	port := freePort(t)
	r.words = append([]string{r.words[0], "--name=" + name,
		"--initial-advertise-peer-urls=https://localhost:" + port, "--listen-peer-urls=https://127.0.0.1:" + port}, r.words[3:5]...)
	r.words = append(r.words, "--log-level=error", "--peer-client-cert-auth",
		"--peer-trusted-ca-file="+dir+"/ca.crt", "--peer-cert-file="+dir+"/tls.crt", "--peer-key-file="+dir+"/tls.key",
		"--peer-client-cert-file="+dir+"/client.crt", "--peer-client-key-file="+dir+"/client.key")
}

func TestARealPeerSaysWhichMemberMayJoin(t *testing.T) {
	e := newRealEtcd(t)
	e.encrypt(t, "a")
	own := wordOf(e.words, "initial-advertise-peer-urls")
	server := exec.Command(e.words[0], append(e.words[1:], "--data-dir="+t.TempDir(), "--initial-cluster=a="+own)...)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	await(t, "it serves", func() bool { return len(e.members()) > 0 })
	const url = "https://localhost:1"
	var added struct {
		Member struct {
			ID uint64 `json:",string"`
		}
	}
	if err := e.post("/v3/cluster/member/add", map[string]any{"peerURLs": []string{url}, "isLearner": true}, &added); err != nil {
		t.Fatal(err)
	}
	joiner := append([]string{e.words[0], "--initial-advertise-peer-urls=" + url}, e.words[4:]...)
	permit := Permit{Data: "d", MemberID: strconv.FormatUint(added.Member.ID, 16), InitialCluster: []string{"a=" + own, "b=" + url}}
	at := pathsIn(newPod(t, permit))
	await(t, "it may join", func() bool { return mayJoin(joiner, permit, at) == nil })
	permit.MemberID = "1"
	if err := mayJoin(joiner, permit, at); err == nil || !strings.Contains(err.Error(), "has the place of member 1") {
		t.Errorf("another may join: %v", err)
	}
}
