package status

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
)

// problems are all that Degraded can report, the most urgent first.
var problems = []struct {
	name, reason string
	arrange      func(*fixture.Scene, *Inputs)
}{
	{"a human must decide", commonv1.ReasonPromotionBlocked, func(_ *fixture.Scene, s *Inputs) {
		s.Next = topology.Step{Do: topology.Block, Message: "allow a promotion"}
	}},
	{"the master knows no password of ours", commonv1.ReasonLockedOut, func(scene *fixture.Scene, _ *Inputs) {
		fixture.AuthFailed(&scene.Nodes[0])
	}},
	{"the password's Secret is of no use", commonv1.ReasonSecretUnusable + " auth", func(_ *fixture.Scene, s *Inputs) {
		s.Credentials.Problem = "there is no Secret"
	}},
	{"a server refuses its passwords", commonv1.ReasonPasswordRefused, func(scene *fixture.Scene, _ *Inputs) {
		scene.Nodes[1].PasswordsUnknown, scene.Nodes[1].RefusesPasswords = true, true
	}},
	{"the certificate's Secret is of no use", commonv1.ReasonSecretUnusable + " tls", func(_ *fixture.Scene, s *Inputs) {
		s.Certificates.Problem = "there is no Secret"
	}},
	{"a volume may not grow", commonv1.ReasonRefusedByServer,
		func(scene *fixture.Scene, _ *Inputs) { scene.GrowthRefusal = "storage.size: no" }},
	{"volumes do not shrink", commonv1.ReasonInvalidSpec + " storage", func(_ *fixture.Scene, s *Inputs) {
		s.Set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{}}
		s.Set.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests = fixture.StorageOf("2Gi")
	}},
	{"a server's reply cannot be parsed", commonv1.ReasonUnreadableReply, func(scene *fixture.Scene, _ *Inputs) {
		scene.Nodes[1].Unreadable = "no RESP"
	}},
	{"a disk is full", commonv1.ReasonDiskError, func(scene *fixture.Scene, _ *Inputs) { scene.Nodes[2].Misconf = true }},
	{"a server refuses a setting", commonv1.ReasonInvalidSpec + " config", func(scene *fixture.Scene, _ *Inputs) {
		scene.Spec.Config = fixture.OneDirective("hz", "abc")
		scene.Nodes[1].RefusedSettings = map[string]string{"hz": "ERR no integer"}
	}},
	{"a pod fails", commonv1.ReasonPodFailing, func(_ *fixture.Scene, s *Inputs) { s.Refusal = "quota" }},
}

// Of two problems, Degraded reports the more urgent one.
func TestTheMoreUrgentProblemIsReported(t *testing.T) {
	published := fixture.IdentityOf(fixture.Issue(authority.New("one")))
	for i, first := range problems {
		for _, second := range problems[i:] {
			t.Run(first.name+" and "+second.name, func(t *testing.T) {
				scene := fixture.Encrypted(config.IdentityFiles(published).Certificate)
				scene.Spec.Storage = &cachev1alpha1.RedisStorage{Size: resource.MustParse("1Gi")}
				s := Inputs{Next: topology.Step{Do: topology.Idle}, Set: &appsv1.StatefulSet{},
					Certificates: config.Certificates{Certificates: pki.Certificates{Published: published, Wanted: published}},
					Credentials:  fixture.Started("p", "s")}
				second.arrange(scene, &s)
				first.arrange(scene, &s)
				s.Situation = scene.Situation()
				c := meta.FindStatusCondition(New(scene.Redis, s).Conditions, commonv1.ConditionDegraded)
				if got := c.Reason + " " + c.Message; c.Status != metav1.ConditionTrue || !strings.HasPrefix(got, first.reason) {
					t.Errorf("%s: %s", c.Status, got)
				}
			})
		}
	}
}
