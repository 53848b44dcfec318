package status

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// problems are all that Degraded can report, the most urgent first.
var problems = []struct {
	name, reason string
	arrange      func(*seen)
}{
	{"a human must decide", commonv1.ReasonUnknownMember, func(s *seen) { s.block(commonv1.ReasonUnknownMember) }},
	{"the password's Secret is of no use", commonv1.ReasonSecretUnusable + " auth", func(s *seen) {
		s.logIn()
		s.logins.Chosen, s.logins.Problem = "", "there is no Secret"
	}},
	{"the certificate's Secret is of no use", commonv1.ReasonSecretUnusable + " tls", func(s *seen) {
		s.showCertificates()
		s.certificates.Problem = "there is no Secret"
	}},
	{"volumes do not shrink", commonv1.ReasonInvalidSpec, func(s *seen) {
		s.e.Spec.Storage = &databasev1alpha1.EtcdStorage{Size: resource.MustParse("1Gi")}
		s.set.Spec.VolumeClaimTemplates = claimTemplates("2Gi")
	}},
	{"a volume may not grow", commonv1.ReasonRefusedByServer, func(s *seen) { s.growth.Refusal = "storage.size: no" }},
	{"a pod fails", commonv1.ReasonPodFailing, func(s *seen) {
		s.refusal, s.set.Status.Replicas, s.w.Members[2].Pod.Ready = "quota", 2, false
	}},
	{"the quota is exceeded", commonv1.ReasonNoSpace, func(s *seen) {
		s.use(95, 100, 0)
		s.w.Alarms = []membership.Alarm{{ID: 101, Type: membership.AlarmNoSpace}}
	}},
	{"most of the quota is in use", commonv1.ReasonQuotaNearlyReached, func(s *seen) { s.use(80, 100, 1) }},
}

// Of two problems, Degraded reports the more urgent one.
func TestTheMoreUrgentProblemIsReported(t *testing.T) {
	for i, first := range problems {
		for _, second := range problems[i:] {
			t.Run(first.name+" and "+second.name, func(t *testing.T) {
				s := newSeen()
				second.arrange(s)
				first.arrange(s)
				c := meta.FindStatusCondition(New(s.inputs()).Conditions, degraded)
				if got := c.Reason + " " + c.Message; c.Status != metav1.ConditionTrue || !strings.HasPrefix(got, first.reason) {
					t.Errorf("%s: %s", c.Status, got)
				}
			})
		}
	}
}
