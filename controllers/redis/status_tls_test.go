package redis

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
)

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
			s := encrypted(identityFiles(published).Certificate)
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
