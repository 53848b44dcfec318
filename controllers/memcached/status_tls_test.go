package memcached

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
)

func TestCertificatesInSync(t *testing.T) {
	good := certificate{Identity: identityOf(authority.New("one").Issue(host))}
	for _, c := range []struct {
		reason string
		certificate
		late     []string
		want     string
		degraded bool
	}{
		{"every node serves it", good, nil, "True CertificatesLoaded", false},
		{"some do", good, []string{"a-1", "a-2"}, "False Reloading: not known to use the certificate that was published last: a-1, a-2", false},
		{"none was ever good", certificate{problem: "there is none"}, nil, "False SecretUnusable: tls.secretName: there is none", false},
		{"none is any more", certificate{Identity: good.Identity, problem: "it has expired"}, []string{"a-0"},
			"False SecretUnusable: tls.secretName: it has expired; until", true},
	} {
		t.Run(c.reason, func(t *testing.T) {
			m := newSecured(nil)
			certificatesInSync(m, c.certificate, c.late)
			got := meta.FindStatusCondition(m.Status.Conditions, commonv1.ConditionCertificatesInSync)
			if text := string(got.Status) + " " + got.Reason + ": " + got.Message; !strings.HasPrefix(text, c.want) {
				t.Errorf("got %s", text)
			}
			if unusable := c.inSync(c.late).Unusable(); (unusable != nil) != c.degraded {
				t.Errorf("Degraded would report %+v", unusable)
			}
			m.Spec.TLS = nil
			certificatesInSync(m, certificate{}, nil)
			if meta.FindStatusCondition(m.Status.Conditions, commonv1.ConditionCertificatesInSync) != nil {
				t.Error("without tls it is still there")
			}
		})
	}
	m := newSecured(func(over *cachev1alpha1.MemcachedTLS) { over.SecretName = "unread" })
	if certificatesInSync(m, certificate{}, nil); len(m.Status.Conditions) != 0 {
		t.Error("nothing is known of it yet")
	}
}
