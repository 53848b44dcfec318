package status

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
)

func TestCertificatesInSync(t *testing.T) {
	by := authority.New("one")
	published, renewed := fixture.IdentityOf(fixture.Issue(by)), fixture.IdentityOf(fixture.Issue(by))
	for _, c := range []struct {
		reason   string
		given    config.Certificates
		change   func(*fixture.Scene)
		want     string
		says     string
		degraded bool
	}{
		{"all is well", config.Certificates{Certificates: pki.Certificates{Published: published, Wanted: published}}, func(*fixture.Scene) {},
			"True CertificatesLoaded", "", false},
		{"a node is late", config.Certificates{Certificates: pki.Certificates{Published: published, Wanted: published}},
			func(s *fixture.Scene) { fixture.MakeSilent(&s.Nodes[1]) }, "False Reloading", "a-1", false},
		{"the next is about to be published", config.Certificates{Certificates: pki.Certificates{Published: published, Wanted: renewed}},
			func(*fixture.Scene) {}, "False Reloading", "authority", false},
		{"the Secret is of no use", config.Certificates{Certificates: pki.Certificates{Published: published, Wanted: published,
			Problem: "there is no Secret"}}, func(*fixture.Scene) {},
			"False SecretUnusable", "tls.secretName: there is no Secret", true},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := fixture.Encrypted(config.IdentityFiles(published).Certificate)
			c.change(s)
			var list []metav1.Condition
			setCertificatesInSync(&list, s.Generation, s.Situation(), c.given)
			got := meta.FindStatusCondition(list, commonv1.ConditionCertificatesInSync)
			if word := string(got.Status) + " " + got.Reason; word != c.want || !strings.Contains(got.Message, c.says) {
				t.Errorf("got %s: %s", word, got.Message)
			}
			if unusable := certificateUnusable(s.Situation(), c.given); (unusable != nil) != c.degraded {
				t.Errorf("Degraded would report %+v", unusable)
			}
		})
	}
	var none []metav1.Condition
	if setCertificatesInSync(&none, 1, topology.Situation{}, config.Certificates{}); len(none) != 0 {
		t.Errorf("without TLS there is %v", none)
	}
}
