package etcd

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/utils/clock"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/children"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/fleet"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/wire"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
)

// securedAddress is one that no other test uses.
const securedAddress = "127.0.32.1"

// certificatesDir is where a pod finds the certificate that clients are shown.
const certificatesDir = "/etc/etcd/certificates"

// argumentsOf are those that a pod starts etcd with.
func argumentsOf(t *testing.T, e *databasev1alpha1.EtcdCluster) []string {
	t.Helper()
	for _, child := range children.Desired(children.Inputs{Cluster: e, Spec: config.Resolve(e, &appsv1.StatefulSet{}, nil)}) {
		if set, is := child.(*appsv1ac.StatefulSetApplyConfiguration); is {
			return set.Spec.Template.Spec.Containers[0].Args
		}
	}
	t.Fatal("there is no StatefulSet")
	return nil
}

// startSecured runs a real etcd with the arguments that a pod has for its clients, and the files in that folder.
func startSecured(t *testing.T, e *databasev1alpha1.EtcdCluster, dir string) *exec.Cmd {
	t.Helper()
	program, err := filepath.Abs("../../.bin/etcd")
	if err != nil {
		t.Fatal(err)
	}
	peer := fmt.Sprintf("http://%s:%d", securedAddress, wire.PeerPort)
	client := config.Resolve(e, &appsv1.StatefulSet{}, nil).ClientURL(securedAddress)
	args := []string{"--name=e-0", "--data-dir=" + t.TempDir(), "--log-level=error", "--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=e-0=" + peer, "--listen-client-urls=" + client, "--advertise-client-urls=" + client}
	for _, argument := range argumentsOf(t, e) {
		if strings.Contains(argument, certificatesDir) || argument == "--client-cert-auth" {
			args = append(args, strings.ReplaceAll(argument, certificatesDir, dir))
		}
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

// asOperator looks at the member as the operator does with that identity. It returns whether the member answers, and the connections,
// which know what it shows.
func asOperator(t *testing.T, e *databasev1alpha1.EtcdCluster, i pki.Identity) (answers bool, seen *fleet.Fleet) {
	t.Helper()
	spec := config.Resolve(e, &appsv1.StatefulSet{}, nil)
	pod := membership.Pod{Address: securedAddress, Permit: "permit"}
	f := &fleet.Fleet{Cluster: e, Spec: spec, Certificates: pki.Certificates{Published: i}, Memory: &fleet.Memory{}, Clock: clock.RealClock{},
		World: membership.World{Members: []membership.Member{{Name: "e-0", Pod: pod}}}}
	f.Open(t.Context(), []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "e-0",
		Annotations: map[string]string{config.AnnotationClientAuthorities: config.ClientAuthorities(spec, i)}},
		Status: corev1.PodStatus{PodIP: securedAddress}}})
	defer f.Close()
	f.Look(t.Context())
	view := f.Members[0].View
	return view.Answered && view.Leader != 0 && view.ClusterVersion != "", f
}

// shows reports whether a member was seen to show that certificate.
func shows(f *fleet.Fleet, i pki.Identity) bool {
	f.Certificates.Published = i
	return !slices.Contains(f.Lagging(), "e-0")
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
	spec := config.Resolve(e, &appsv1.StatefulSet{}, nil)
	secure, err := i.TLSConfig(spec.ServiceHost(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: secure, DisableKeepAlives: true}}
	reply, err := client.Post(spec.ClientURL(securedAddress)+"/v3/maintenance/status", "application/json", strings.NewReader("{}"))
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

// The steps of NextPublished stand on this: etcd reads what it shows to clients at each handshake, and whom it trusts only when it
// starts.
func TestEtcdShowsARenewedCertificateToClients(t *testing.T) {
	e, dir := fixture.Secured(databasev1alpha1.EtcdClientAuthRequired), t.TempDir()
	one, two := authority.New("one"), authority.New("two")
	first, renewed, other := pki.PublishedIn(fixture.Issue(one)), pki.PublishedIn(fixture.Issue(one)), pki.PublishedIn(fixture.Issue(two))
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
	answers, seen := asOperator(t, e, first)
	if !answers || !shows(seen, renewed) {
		t.Error("it does not show the renewed certificate")
	}

	both := pki.Certificates{Published: renewed, Wanted: other}.NextPublished(time.Now())
	next := pki.Certificates{Published: both, Wanted: other}.NextPublished(time.Now())
	if !bytes.Equal(next.Certificate, other.Certificate) {
		t.Fatal("the second step shows the other certificate")
	}
	write(both)
	if answers, _ := asOperator(t, e, next); answers {
		t.Error("it trusts the other authority before it restarts: no pods need to be replaced")
	}
	_ = etcd.Process.Kill()
	_ = etcd.Wait()
	startSecured(t, e, dir)
	awaitAnswer(t, e, next)
	awaitAnswer(t, e, both)
}

func TestEtcdAsksForCertificatesOnlyWhereTheSpecDoes(t *testing.T) {
	i := pki.PublishedIn(fixture.Issue(authority.New("one")))
	stranger := pki.PublishedIn(fixture.Issue(authority.New("two")))
	stranger.Authorities = i.Authorities // it knows the members, and they do not know it
	for auth, welcome := range map[databasev1alpha1.EtcdClientAuth]bool{
		databasev1alpha1.EtcdClientAuthNone: true, databasev1alpha1.EtcdClientAuthRequired: false,
	} {
		t.Run(string(auth), func(t *testing.T) {
			e, dir := fixture.Secured(auth), t.TempDir()
			for key, value := range i.Data() {
				if err := os.WriteFile(filepath.Join(dir, key), value, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			startSecured(t, e, dir)
			awaitAnswer(t, e, i)
			answers, seen := asOperator(t, e, stranger)
			if answers != welcome {
				t.Errorf("a client without a certificate of the authority is served: %v", answers)
			}
			if !shows(seen, i) {
				t.Error("what it shows is not known: an operator whose certificate has expired could never show another authority's")
			}
		})
	}
}
