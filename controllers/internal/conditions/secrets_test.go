package conditions

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

func TestSetCertificatesInSync(t *testing.T) {
	for _, c := range []struct {
		reason   string
		given    Certificates
		want     string
		degraded bool
	}{
		{"every node uses it", Certificates{}, "True CertificatesLoaded", false},
		{"some do", Certificates{Lagging: []string{"a-1", "a-2"}},
			"False Reloading: not known to use the certificate that was published last: a-1, a-2", false},
		{"all use one on the way to it", Certificates{TrustPending: true}, "False Reloading: the nodes learn", false},
		{"none was ever good", Certificates{Problem: "there is none", NoneValid: true}, "False SecretUnusable: f: there is none", false},
		{"none is any more", Certificates{Problem: "it has expired", Lagging: []string{"a-0"}, TrustPending: true},
			"False SecretUnusable: f: it has expired; until it is fixed the last good certificate stays", true},
		{"nothing is known yet", Certificates{NoneValid: true}, "", false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			var list []metav1.Condition
			c.given.Field = "f"
			SetCertificatesInSync(&list, 1, c.given)
			text := ""
			if got := meta.FindStatusCondition(list, commonv1.ConditionCertificatesInSync); got != nil {
				text = string(got.Status) + " " + got.Reason + ": " + got.Message
			}
			if !strings.HasPrefix(text, c.want) || (text == "") != (c.want == "") {
				t.Errorf("got %q", text)
			}
			if unusable := c.given.Unusable(); (unusable != nil) != c.degraded {
				t.Errorf("Degraded would report %+v", unusable)
			}
		})
	}
}

// What never stood does not serve until its Secret is of use; what serves continues.
func TestWhatNeverStoodDoesNotServe(t *testing.T) {
	var list []metav1.Condition
	SetSecretUnusable(&list, 1, commonv1.ConditionCredentialsInSync, "f", "there is none", "")
	expect(t, list, map[string]string{available: "False SecretUnusable"})
	Set(&list, 1, available, true, commonv1.ReasonReplicas, "m")
	SetSecretUnusable(&list, 1, commonv1.ConditionCredentialsInSync, "f", "there is none", "")
	expect(t, list, map[string]string{available: "True Replicas"})
}
