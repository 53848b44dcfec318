package etcd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/wire"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
)

// securedAddress is one that no other test uses.
const securedAddress = "127.0.32.1"

// startSecured runs a real etcd with the arguments that a pod has for its clients, and the files in that folder.
func startSecured(t *testing.T, e *databasev1alpha1.EtcdCluster, dir string) *exec.Cmd {
	t.Helper()
	program, err := filepath.Abs("../../.bin/etcd")
	if err != nil {
		t.Fatal(err)
	}
	peer := fmt.Sprintf("http://%s:%d", securedAddress, wire.PeerPort)
	args := []string{"--name=e-0", "--data-dir=" + t.TempDir(), "--log-level=error", "--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=e-0=" + peer, "--listen-client-urls=" + clientURL(e, securedAddress), "--advertise-client-urls=" + clientURL(e, securedAddress)}
	for _, one := range clientTLSArguments(e) {
		args = append(args, strings.ReplaceAll(one, certificatesDir, dir))
	}
	etcd := exec.Command(program, args...) //nolint:gosec // our own program
	etcd.Stderr = os.Stderr
	if err := etcd.Start(); err != nil {
		t.Fatalf("%v; `go run -C hack/cluster . assets` builds it", err)
	}
	t.Cleanup(func() {
		_ = etcd.Process.Kill()
		_ = etcd.Wait()
	})
	return etcd
}

// asOperator looks at the member as the operator does with that identity. It returns whether the member answers, and what is known
// of its certificates.
func asOperator(t *testing.T, e *databasev1alpha1.EtcdCluster, i pki.Identity) (answers bool, usage *certificateUsage) {
	t.Helper()
	f := &fleet{spec: resolve(e, nil), usage: map[string]*certificateUsage{}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "e-0"}, Status: corev1.PodStatus{PodIP: securedAddress}}
	server, err := f.open(e, pod, inputs{certificates: pki.Certificates{Published: i}}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	ctx, done := context.WithTimeout(t.Context(), lookLimit)
	defer done()
	view := server.Look(ctx)
	return view.Answered && view.Leader != 0 && view.ClusterVersion != "", f.usage["e-0"]
}

// awaitAnswer returns when the member answers the operator with that identity.
func awaitAnswer(t *testing.T, e *databasev1alpha1.EtcdCluster, i pki.Identity) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if answers, _ := asOperator(t, e, i); answers {
			return
		}
	}
	t.Fatal("it does not answer")
}

// statusByJSON asks etcd's gateway, which connects to its own server.
func statusByJSON(t *testing.T, e *databasev1alpha1.EtcdCluster, i pki.Identity) string {
	t.Helper()
	secure, err := i.TLSConfig(resolve(e, nil).ServiceHost(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: secure, DisableKeepAlives: true}}
	reply, err := client.Post(clientURL(e, securedAddress)+"/v3/maintenance/status", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reply.Body.Close() }()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The steps of nextIdentity stand on this: etcd reads what it shows to clients at each handshake, and whom it trusts only when it
// starts.
func TestEtcdShowsARenewedCertificateToClients(t *testing.T) {
	e, dir := secured(databasev1alpha1.EtcdClientAuthRequired), t.TempDir()
	one, two := authority.New("one"), authority.New("two")
	first, renewed, other := pki.PublishedIn(issueFor(one)), pki.PublishedIn(issueFor(one)), pki.PublishedIn(issueFor(two))
	write := func(i pki.Identity) {
		for key, value := range i.Data() {
			if err := os.WriteFile(filepath.Join(dir, key), value, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(first)
	etcd := startSecured(t, e, dir)
	awaitAnswer(t, e, first)
	if text := statusByJSON(t, e, first); !strings.Contains(text, `"dbSize"`) {
		t.Errorf("the gateway says %s", text)
	}

	write(renewed)
	answers, usage := asOperator(t, e, first)
	if !answers || !usage.isOf(renewed, "") {
		t.Error("it does not show the renewed certificate")
	}

	both := pki.Certificates{Published: renewed, Wanted: other}.NextIdentity(time.Now())
	next := pki.Certificates{Published: both, Wanted: other}.NextIdentity(time.Now())
	if !bytes.Equal(next.Certificate, other.Certificate) {
		t.Fatal("the second step shows the other certificate")
	}
	write(both)
	if answers, _ := asOperator(t, e, next); answers {
		t.Error("it trusts the other authority before it has started anew: no pods need to be made anew")
	}
	_ = etcd.Process.Kill()
	_ = etcd.Wait()
	startSecured(t, e, dir)
	awaitAnswer(t, e, next)
	awaitAnswer(t, e, both)
}

func TestEtcdAsksForCertificatesOnlyWhereTheSpecDoes(t *testing.T) {
	i := pki.PublishedIn(issueFor(authority.New("one")))
	stranger := pki.PublishedIn(issueFor(authority.New("two")))
	stranger.Authorities = i.Authorities // it knows the members, and they do not know it
	for auth, welcome := range map[databasev1alpha1.EtcdClientAuth]bool{
		databasev1alpha1.EtcdClientAuthNone: true, databasev1alpha1.EtcdClientAuthRequired: false,
	} {
		t.Run(string(auth), func(t *testing.T) {
			e, dir := secured(auth), t.TempDir()
			for key, value := range i.Data() {
				if err := os.WriteFile(filepath.Join(dir, key), value, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			startSecured(t, e, dir)
			awaitAnswer(t, e, i)
			answers, usage := asOperator(t, e, stranger)
			if answers != welcome {
				t.Errorf("a client without a certificate of the authority is served: %v", answers)
			}
			if !usage.isOf(i, "") {
				t.Error("what it shows is not known: an operator whose certificate has expired could never show another authority's")
			}
		})
	}
}
