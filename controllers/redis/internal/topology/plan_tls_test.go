package topology_test

import (
	"strings"
	"testing"

	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

func TestReload(t *testing.T) {
	const published, renewed = "one.crt", "two.crt"
	for _, c := range []struct {
		reason string
		change func(*Scene)
		do     Verb
		nodes  string
		loaded bool
	}{
		{"all use what was published", func(*Scene) {}, Idle, "", true},
		{"another was published", func(s *Scene) { s.CertificateFile = renewed }, LoadCertificates, "a-0,a-1,a-2", false},
		{"one node has not loaded it yet", func(s *Scene) { s.Nodes[1].Certificate = renewed }, LoadCertificates, "a-1", false},
		{"no one knows about one that is silent", func(s *Scene) { MakeSilent(&s.Nodes[2]) }, Wait, "", false},
		{"no one knows which certificate a node that loads its data uses", func(s *Scene) { s.Nodes[2].Loading = true }, Wait, "", false},
		{"a lost master is more urgent", func(s *Scene) {
			s.CertificateFile = renewed
			Refused(&s.Nodes[0])
			LinksDown(s)
		}, Fence, "a-1,a-2", false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := Encrypted(published)
			c.change(s)
			next := s.Situation().Plan()
			if next.Do != c.do || c.nodes != strings.Join(next.NodeNames, ",") && c.nodes != "" {
				t.Errorf("got %s, want %s %s", next, c.do, c.nodes)
			}
			if next.Do == LoadCertificates && (next.RequeueAfter != CertificateDelivery || next.Traits().Changes) {
				t.Errorf("asked again after %s", next.RequeueAfter)
			}
			if s.CertificatesLoaded() != c.loaded {
				t.Errorf("all have loaded it: %t", s.CertificatesLoaded())
			}
		})
	}
}
