package fleet

import (
	"context"
	"errors"
	"strings"
	"testing"

	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
)

// loader is a server that can load files, cannot yet, or does not answer.
type loader struct {
	server
	delivered bool
	err       error
	asked     wire.TLSFiles
}

func (l *loader) LoadCertificate(_ context.Context, files wire.TLSFiles) (bool, error) {
	l.asked = files
	return l.delivered, l.err
}

func TestReloadReportsWhichServersHaveIt(t *testing.T) {
	published := fixture.IdentityOf(fixture.Issue(authority.New("one")))
	recorder := events.NewFakeRecorder(3)
	r := startOperator(nil)
	r.Events = recorder
	has, waits, mute := &loader{delivered: true}, &loader{}, &loader{err: errors.New("i/o timeout")}
	f := r.fleetOf(fixture.Sized(3))
	f.servers = map[string]server{"a-0": has, "a-1": waits, "a-2": mute}
	f.Certificates = config.Certificates{Certificates: pki.Certificates{Published: published}}

	if err := f.doLoadCertificates(t.Context(), topology.Step{NodeNames: []string{"a-0", "a-1"}}); err != nil {
		t.Errorf("a kubelet that takes its time is no failure: %v", err)
	}
	if reported := <-recorder.Events; !strings.Contains(reported, "CertificateLoaded a-0:") || has.asked != config.IdentityFiles(published) {
		t.Errorf("reported %q, asked for %v", reported, has.asked)
	}
	if err := f.doLoadCertificates(t.Context(), topology.Step{NodeNames: []string{"a-1", "a-2"}}); err == nil ||
		!strings.Contains(err.Error(), "a-2") {
		t.Errorf("got %v", err)
	}
	if len(recorder.Events) > 0 {
		t.Errorf("no one has loaded it, and reported is %q", <-recorder.Events)
	}
}

// What comes next is published when everybody has what came before.
func TestPublish(t *testing.T) {
	by, other := authority.New("one"), authority.New("other")
	published, renewed, moved := fixture.IdentityOf(fixture.Issue(by)), fixture.IdentityOf(fixture.Issue(by)),
		fixture.IdentityOf(fixture.Issue(other))
	s := fixture.Encrypted(config.IdentityFiles(published).Certificate)
	f := startOperator(clock.RealClock{}).fleetOf(s.Redis)
	f.World, f.Certificates = s.World, config.Certificates{Certificates: pki.Certificates{Published: published, Wanted: moved}}
	if got := f.PublishIdentity(); got.ContentHash() == published.ContentHash() {
		t.Error("all have loaded it, and the next one is held back")
	}
	fixture.MakeSilent(&f.Nodes[1])
	if got := f.PublishIdentity(); got.ContentHash() != published.ContentHash() {
		t.Error("one may not have loaded it, and another authority's is published")
	}
	f.Certificates.Wanted = renewed
	if got := f.PublishIdentity(); got.ContentHash() != renewed.ContentHash() {
		t.Error("it is renewed by the same authority, and held back until it expires")
	}
}
