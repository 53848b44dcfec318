package status

import (
	"testing"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

func TestCertificatesInSync(t *testing.T) {
	checkConditions(t, []row{
		{"without tls there is no certificate", func(*seen) {}, map[string]string{commonv1.ConditionCertificatesInSync: ""}},
		{"every member shows the certificate", func(s *seen) { s.showCertificates() }, map[string]string{
			commonv1.ConditionCertificatesInSync: "True CertificatesLoaded", degraded: "False"}},
		{"a member does not show it yet", func(s *seen) { s.showCertificates("a-1") }, map[string]string{
			commonv1.ConditionCertificatesInSync: "False Reloading not known to use the certificate that was published last: a-1", ready: "True"}},
		{"the Secret is of no use", func(s *seen) {
			s.showCertificates()
			s.certificates.Problem = "there is no Secret"
		}, map[string]string{
			commonv1.ConditionCertificatesInSync: "False SecretUnusable tls.secretName: there is no Secret; until it is fixed the last good",
			degraded:                             "True SecretUnusable tls.secretName: there is no Secret", available: "True"}},
		{"the Secret is of no use, and a human must decide", func(s *seen) {
			s.showCertificates()
			s.certificates.Problem = "there is no Secret"
			s.block(commonv1.ReasonUnknownMember)
		}, map[string]string{degraded: "True UnknownMember do this"}},
	})
}
