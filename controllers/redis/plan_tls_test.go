package redis

import (
	"strings"
	"testing"
)

func TestReload(t *testing.T) {
	const published, renewed = "one.crt", "two.crt"
	for _, c := range []struct {
		reason string
		change func(*scene)
		do     verb
		nodes  string
		loaded bool
	}{
		{"all use what was published", func(*scene) {}, idle, "", true},
		{"another was published", func(s *scene) { s.certificateFile = renewed }, loadCertificates, "a-0,a-1,a-2", false},
		{"one node has not loaded it yet", func(s *scene) { s.members[1].Certificate = renewed }, loadCertificates, "a-1", false},
		{"nobody knows about one that is silent", func(s *scene) { makeSilent(&s.members[2]) }, wait, "", false},
		{"nor about one that loads its data", func(s *scene) { s.members[2].Loading = true }, wait, "", false},
		{"a lost master is more urgent", func(s *scene) {
			s.certificateFile = renewed
			refused(&s.members[0])
			linksDown(s)
		}, fence, "a-1,a-2", false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := encrypted(published)
			c.change(s)
			next := s.situation().plan()
			if next.do != c.do || c.nodes != strings.Join(next.nodes, ",") && c.nodes != "" {
				t.Errorf("got %s, want %s %s", next, c.do, c.nodes)
			}
			if next.do == loadCertificates && (next.requeueAfter != certificateDelivery || next.changes()) {
				t.Errorf("asked again after %s", next.requeueAfter)
			}
			if s.certificatesLoaded() != c.loaded {
				t.Errorf("all have loaded it: %t", s.certificatesLoaded())
			}
		})
	}
}
