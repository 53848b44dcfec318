package redis

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

func TestCredentialsInSync(t *testing.T) {
	volumes := func(s *scene) { s.Spec.Storage = &cachev1alpha1.RedisStorage{} }
	overlapping, _ := started("old", "").chooseLogin("s", "new", drawn).publish(true).startOverlap(noon)
	lost := started("p", "s")
	lost.problem = `there is no Secret "s"`
	for _, c := range []struct {
		name     string
		keys     credentials
		given    func(*scene)
		reason   string
		says     string
		inSync   bool
		degraded bool
	}{
		{"all is well", started("p", ""), func(*scene) {}, commonv1.ReasonPasswordsAccepted, "", true, false},
		{"two are accepted", overlapping, func(*scene) {}, commonv1.ReasonPasswordsOverlap, "2026-01-02T12:05:00Z", true, false},
		{"a node is not told yet", started("p", ""), func(s *scene) { s.members[1].passwordsUnknown = true }, commonv1.ReasonRotating, "", false, false},
		{"applications are not", started("p", "").chooseLogin("s", "new", drawn), func(*scene) {}, commonv1.ReasonRotating, "", false, false},
		{"a node refuses", started("p", ""), func(s *scene) { s.members[1].passwordsUnknown, s.members[1].refusesPasswords = true, true },
			commonv1.ReasonPasswordRefused, "a-1", false, true},
		{"the user's Secret is lost", lost, func(*scene) {}, commonv1.ReasonSecretUnusable, `auth.secretName: there is no Secret "s"`, false, true},
		{"a replica is locked out", started("p", ""), func(s *scene) { authFailed(&s.members[1]) }, commonv1.ReasonReadmitting, "a-1", false, false},
		{"the master is", started("p", ""), func(s *scene) { authFailed(&s.members[0]) }, commonv1.ReasonLockedOut, "it is in memory alone", false, true},
		{"the master is, with a volume", started("p", ""), func(s *scene) { volumes(s); authFailed(&s.members[0]) },
			commonv1.ReasonLockedOut, "delete pod a-0, annotate this object with " + cachev1alpha1.RedisAllowUnsafePromotion + "=7", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := healthy(3)
			c.given(s)
			var list []metav1.Condition
			setCredentialsInSync(&list, s.Generation, s.situation(), c.keys)
			got := meta.FindStatusCondition(list, commonv1.ConditionCredentialsInSync)
			if got.Reason != c.reason || !strings.Contains(got.Message, c.says) || (got.Status == metav1.ConditionTrue) != c.inSync ||
				meta.IsStatusConditionTrue(list, commonv1.ConditionDegraded) != c.degraded {
				t.Errorf("got %+v", list)
			}
		})
	}
}

// TestNothingIsInSyncBeforeAServerAnswers is what may not be believed of a set that never
// started, whatever was amiss before; what was once True stays.
func TestNothingIsInSyncBeforeAServerAnswers(t *testing.T) {
	s := withVolumes(healthy(3))
	for i := range s.members {
		makeSilent(&s.members[i])
	}
	for _, kind := range []string{commonv1.ConditionSettingsInSync, commonv1.ConditionCredentialsInSync} {
		for before, want := range map[metav1.ConditionStatus]bool{"": false, metav1.ConditionFalse: false, metav1.ConditionTrue: true} {
			var list []metav1.Condition
			if before != "" {
				list = []metav1.Condition{{Type: kind, Status: before, Reason: commonv1.ReasonInvalidSpec}}
			}
			if setSettingsInSync(&list, s.Generation, s.situation()); kind == commonv1.ConditionCredentialsInSync {
				setCredentialsInSync(&list, s.Generation, s.situation(), started("p", ""))
			}
			if got := meta.FindStatusCondition(list, kind); (got != nil) != want || got != nil && got.Status != metav1.ConditionTrue {
				t.Errorf("%s was %q and is %+v", kind, before, got)
			}
		}
	}
}
