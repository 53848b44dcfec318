package status

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
)

func TestCredentialsInSync(t *testing.T) {
	volumes := func(s *fixture.Scene) { s.Spec.Storage = &cachev1alpha1.RedisStorage{} }
	overlapping, _ := fixture.Started("old", "").ChooseLogin("s", "new", fixture.Drawn).Publish(true).StartOverlap(fixture.Noon)
	rotating, _ := fixture.Started("p", "").StartRotation("now", fixture.Drawn).StartOverlap(fixture.Noon)
	ending, _ := rotating.PublishNext(fixture.Noon.Add(config.FilesOverlap))
	ending, _ = ending.StartOverlap(fixture.Noon)
	lost := fixture.Started("p", "s")
	lost.Problem = `there is no Secret "s"`
	for _, c := range []struct {
		name     string
		keys     config.Credentials
		given    func(*fixture.Scene)
		reason   string
		says     string
		inSync   bool
		degraded bool
	}{
		{"all is well", fixture.Started("p", ""), func(*fixture.Scene) {}, commonv1.ReasonPasswordsAccepted, "", true, false},
		{"two are accepted", overlapping, func(*fixture.Scene) {}, commonv1.ReasonPasswordsOverlap, "2026-01-02T12:05:00Z", true, false},
		{"a node was not sent the passwords yet", fixture.Started("p", ""), func(s *fixture.Scene) { s.Nodes[1].PasswordsUnknown = true },
			commonv1.ReasonRotating, "", false, false},
		{"applications are not", fixture.Started("p", "").ChooseLogin("s", "new", fixture.Drawn), func(*fixture.Scene) {},
			commonv1.ReasonRotating, "", false, false},
		{"the operator's passwords are rotated", rotating, func(*fixture.Scene) {}, commonv1.ReasonRotating, "used from 2026-01-02T12:02:00Z on",
			false, false},
		{"a rotation waits for a node", rotating, func(s *fixture.Scene) { fixture.MakeSilent(&s.Nodes[2]) }, commonv1.ReasonRotating,
			"once these nodes answer and accept them: a-2", false, false},
		{"the former ones of the operator are still accepted", ending, func(*fixture.Scene) {}, commonv1.ReasonRotating,
			"accepted until 2026-01-02T12:01:00Z", false, false},
		{"a node refuses", fixture.Started("p", ""), func(s *fixture.Scene) {
			s.Nodes[1].PasswordsUnknown, s.Nodes[1].RefusesPasswords = true,
				true
		},
			commonv1.ReasonPasswordRefused, "a-1", false, true},
		{"the user's Secret is lost", lost, func(*fixture.Scene) {}, commonv1.ReasonSecretUnusable, `auth.secretName: there is no Secret "s"`,
			false, true},
		{"a replica is locked out", fixture.Started("p", ""), func(s *fixture.Scene) { fixture.AuthFailed(&s.Nodes[1]) },
			commonv1.ReasonReadmitting, "a-1", false, false},
		{"the master is", fixture.Started("p", ""), func(s *fixture.Scene) { fixture.AuthFailed(&s.Nodes[0]) }, commonv1.ReasonLockedOut,
			"it is in memory alone", false, true},
		{"the master is, with a volume", fixture.Started("p", ""), func(s *fixture.Scene) { volumes(s); fixture.AuthFailed(&s.Nodes[0]) },
			commonv1.ReasonLockedOut, "delete pod a-0, annotate this object with " + cachev1alpha1.RedisAllowUnsafePromotion + "=7", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := fixture.Healthy(3)
			c.given(s)
			var list []metav1.Condition
			setCredentialsInSync(&list, s.Generation, s.Situation(), c.keys)
			got := meta.FindStatusCondition(list, commonv1.ConditionCredentialsInSync)
			if got.Reason != c.reason || !strings.Contains(got.Message, c.says) || (got.Status == metav1.ConditionTrue) != c.inSync ||
				(unsolved(s.Situation(), c.keys) != nil) != c.degraded {
				t.Errorf("got %+v", list)
			}
		})
	}
}

// An operator that has just started sends the nodes once more what they accept. That changes no condition of an object at rest.
func TestARestartedOperatorChangesNoCondition(t *testing.T) {
	for _, c := range []struct {
		name   string
		before metav1.ConditionStatus
		keys   config.Credentials
		unsent bool
		want   metav1.ConditionStatus
	}{
		{"all was well", metav1.ConditionTrue, fixture.Started("p", ""), true, metav1.ConditionTrue},
		{"something was not", metav1.ConditionFalse, fixture.Started("p", ""), true, metav1.ConditionFalse},
		{"the password has changed since", metav1.ConditionTrue, fixture.Started("p", "").ChooseLogin("s", "new", fixture.Drawn), true,
			metav1.ConditionFalse},
		{"a rotation is under way", metav1.ConditionTrue, fixture.Started("p", "").StartRotation("now", fixture.Drawn), true,
			metav1.ConditionFalse},
		{"this operator sent the nodes other passwords", metav1.ConditionTrue, fixture.Started("p", ""), false, metav1.ConditionFalse},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := fixture.Healthy(3)
			s.Nodes[1].PasswordsUnknown, s.Nodes[1].PasswordsUnsent = true, c.unsent
			before := metav1.Condition{Type: commonv1.ConditionCredentialsInSync, Status: c.before, Reason: commonv1.ReasonPasswordsAccepted,
				Message: "before"}
			list := []metav1.Condition{before}
			setCredentialsInSync(&list, s.Generation+1, s.Situation(), c.keys)
			if got := list[0]; got.Status != c.want || (got == before) != (c.want == metav1.ConditionTrue) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestNothingIsInSyncBeforeAServerAnswers is what may not be believed of a set that never
// started, whatever was wrong before; what was once True stays.
func TestNothingIsInSyncBeforeAServerAnswers(t *testing.T) {
	s := fixture.WithVolumes(fixture.Healthy(3))
	for i := range s.Nodes {
		fixture.MakeSilent(&s.Nodes[i])
	}
	for _, kind := range []string{commonv1.ConditionSettingsInSync, commonv1.ConditionCredentialsInSync} {
		for before, want := range map[metav1.ConditionStatus]bool{"": false, metav1.ConditionFalse: false, metav1.ConditionTrue: true} {
			var list []metav1.Condition
			if before != "" {
				list = []metav1.Condition{{Type: kind, Status: before, Reason: commonv1.ReasonInvalidSpec}}
			}
			if setSettingsInSync(&list, s.Generation, s.Situation()); kind == commonv1.ConditionCredentialsInSync {
				setCredentialsInSync(&list, s.Generation, s.Situation(), fixture.Started("p", ""))
			}
			if got := meta.FindStatusCondition(list, kind); (got != nil) != want || got != nil && got.Status != metav1.ConditionTrue {
				t.Errorf("%s was %q and is %+v", kind, before, got)
			}
		}
	}
}
