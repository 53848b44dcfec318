package status

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

func TestCredentialsInSync(t *testing.T) {
	checkConditions(t, []row{
		{"without auth there is no password", func(*seen) {}, map[string]string{commonv1.ConditionCredentialsInSync: ""}},
		{"the password is published", func(s *seen) { s.logIn() }, map[string]string{
			commonv1.ConditionCredentialsInSync: "True PasswordsAccepted", ready: "True"}},
		{"etcd is still open to all", func(s *seen) {
			s.logIn()
			s.e.Status.Login, s.logins.Published = nil, config.Login{}
			s.next = membership.Step{Do: membership.SetUser, User: "root"}
		}, map[string]string{commonv1.ConditionCredentialsInSync: "False Rotating", ready: "False RollingOut letting in user root",
			progressing: "True RollingOut"}},
		{"another password is under way", func(s *seen) { s.logIn(); s.logins.Chosen = "next" }, map[string]string{
			commonv1.ConditionCredentialsInSync: "False Rotating the users and passwords of etcd", ready: "True"}},
		{"the user before is let in, too", func(s *seen) {
			s.logIn()
			s.e.Status.Login.FormerUser, s.e.Status.Login.FormerUntil = "application-b", &metav1.Time{Time: time.Unix(0, 0)}
		}, map[string]string{
			commonv1.ConditionCredentialsInSync: "True PasswordsOverlap user application-b is let in, too, until 1970-01-01T00:00:00Z"}},
		{"a further password waits for it", func(s *seen) {
			s.logIn()
			s.logins.Chosen = "next"
			s.e.Status.Login.FormerUser, s.e.Status.Login.FormerUntil = "application-b", &metav1.Time{Time: time.Unix(0, 0)}
		}, map[string]string{commonv1.ConditionCredentialsInSync: "False Rotating the next password is taken when user application-b"}},
		{"the password's Secret is of no use", func(s *seen) {
			s.logIn()
			s.logins.Chosen, s.logins.Problem = "", "there is no Secret"
		}, map[string]string{
			commonv1.ConditionCredentialsInSync: "False SecretUnusable auth.secretName: there is no Secret; until it is fixed the last",
			degraded:                            "True SecretUnusable auth.secretName"}},
		{"the operator is locked out", func(s *seen) { s.logIn(); s.block(commonv1.ReasonLockedOut) }, map[string]string{
			commonv1.ConditionCredentialsInSync: "False LockedOut do this", degraded: "True LockedOut do this"}},
		{"there are too many users to look through", func(s *seen) { s.logIn(); s.e.Status.Login = nil; s.block(commonv1.ReasonTooManyUsers) },
			map[string]string{commonv1.ConditionCredentialsInSync: "False TooManyUsers do this", degraded: "True TooManyUsers do this"}},
		{"nothing runs yet", func(s *seen) {
			s.e.Status = databasev1alpha1.EtcdClusterStatus{}
			s.w = membership.World{}
		}, map[string]string{commonv1.ConditionUpdateAvailable: "", available: "False NoQuorum"}},
	})
}
