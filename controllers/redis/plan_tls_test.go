package redis

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
)

// encrypted is a healthy scene in which all nodes use what was published.
func encrypted(published identity) *scene {
	s := healthy(3)
	s.Spec.TLS = &cachev1alpha1.RedisTLS{SecretName: "chosen"}
	s.certificateFile = identityFiles(published).Certificate
	for i := range s.members {
		s.members[i].Certificate = s.certificateFile
	}
	return s
}

func TestReload(t *testing.T) {
	by := authority.New("one")
	published, renewed := identityOf(issue(by)), identityOf(issue(by))
	for _, c := range []struct {
		reason string
		change func(*scene)
		do     verb
		nodes  string
		loaded bool
	}{
		{"all use what was published", func(*scene) {}, idle, "", true},
		{"another was published", func(s *scene) { s.certificateFile = identityFiles(renewed).Certificate }, loadCertificates, "a-0,a-1,a-2", false},
		{"one node has not loaded it yet", func(s *scene) { s.members[1].Certificate = identityFiles(renewed).Certificate }, loadCertificates, "a-1", false},
		{"nobody knows about one that is silent", func(s *scene) { makeSilent(&s.members[2]) }, wait, "", false},
		{"nor about one that loads its data", func(s *scene) { s.members[2].Loading = true }, wait, "", false},
		{"a lost master is more urgent", func(s *scene) {
			s.certificateFile = identityFiles(renewed).Certificate
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

// What comes next is published when everybody has what came before.
func TestPublish(t *testing.T) {
	by, other := authority.New("one"), authority.New("other")
	published, renewed, moved := identityOf(issue(by)), identityOf(issue(by)), identityOf(issue(other))
	r := &Reconciler{clock: clock.RealClock{}}
	s := encrypted(published)
	f := &fleet{spec: resolve(s.Redis), world: s.world, certificates: certificates{published: published, wanted: moved}}
	if got := r.publishIdentity(s.Redis, f); got.ContentHash() == published.ContentHash() {
		t.Error("all have loaded it, and the next one is held back")
	}
	makeSilent(&f.members[1])
	if got := r.publishIdentity(s.Redis, f); got.ContentHash() != published.ContentHash() {
		t.Error("one may not have loaded it, and another authority's is published")
	}
	f.certificates.wanted = renewed
	if got := r.publishIdentity(s.Redis, f); got.ContentHash() != renewed.ContentHash() {
		t.Error("it is renewed by the same authority, and held back until it expires")
	}
}

func TestCertificatesInSync(t *testing.T) {
	by := authority.New("one")
	published, renewed := identityOf(issue(by)), identityOf(issue(by))
	for _, c := range []struct {
		reason   string
		given    certificates
		change   func(*scene)
		want     string
		says     string
		degraded bool
	}{
		{"all is well", certificates{published: published, wanted: published}, func(*scene) {}, "True CertificatesLoaded", "", false},
		{"a node is late", certificates{published: published, wanted: published}, func(s *scene) { makeSilent(&s.members[1]) }, "False Reloading", "a-1", false},
		{"the next is about to be published", certificates{published: published, wanted: renewed}, func(*scene) {}, "False Reloading", "authority", false},
		{"the Secret is of no use", certificates{published: published, wanted: published, problem: "there is no Secret"}, func(*scene) {},
			"False SecretUnusable", "tls.secretName: there is no Secret", true},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := encrypted(published)
			c.change(s)
			var list []metav1.Condition
			setCertificatesInSync(&list, s.Generation, s.situation(), c.given)
			got := meta.FindStatusCondition(list, commonv1.ConditionCertificatesInSync)
			if word := string(got.Status) + " " + got.Reason; word != c.want || !strings.Contains(got.Message, c.says) {
				t.Errorf("got %s: %s", word, got.Message)
			}
			if meta.IsStatusConditionTrue(list, commonv1.ConditionDegraded) != c.degraded {
				t.Errorf("degraded is not %t", c.degraded)
			}
		})
	}
	var none []metav1.Condition
	if setCertificatesInSync(&none, 1, situation{}, certificates{}); len(none) != 0 {
		t.Errorf("without TLS there is %v", none)
	}
}
