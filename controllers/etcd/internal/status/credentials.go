package status

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/passwords"
)

// setCredentialsInSync says whether etcd lets in who has the password that the Secrets say.
func setCredentialsInSync(list *[]metav1.Condition, in Inputs) {
	if !in.haveLogins() {
		return
	}
	s, next, l, record := in.Situation, in.Next, in.Logins, in.Situation.Login()
	set := func(inSync bool, reason, message string) {
		conditions.Set(list, in.Cluster.Generation, commonv1.ConditionCredentialsInSync, inSync, reason, message)
	}
	switch {
	case next.Do == membership.Block && (next.Reason == commonv1.ReasonLockedOut || next.Reason == commonv1.ReasonTooManyUsers):
		set(false, next.Reason, next.Message)
	case l.Problem != "":
		conditions.SetSecretUnusable(list, in.Cluster.Generation, commonv1.ConditionCredentialsInSync, passwords.SecretField, l.Problem,
			"the last password stays")
	case !record.Required || l.Wanted(record) != l.Published || l.Published.User != record.User || len(s.Access.Refused) > 0:
		set(false, commonv1.ReasonRotating, "the users and passwords of etcd are being changed")
	case l.Chosen != "" && l.Chosen != l.Published.Password:
		set(false, commonv1.ReasonRotating,
			"the next password is taken when user "+record.FormerUser+" is no longer let in, at "+formerUntil(record))
	case record.FormerUntil != nil:
		set(true, commonv1.ReasonPasswordsOverlap, "user "+record.FormerUser+" is let in, too, until "+formerUntil(record))
	default:
		set(true, commonv1.ReasonPasswordsAccepted, "etcd lets in who has the password that the Secrets say")
	}
}

// passwordUnusable is the problem with the Secret of the applications' password.
func (i Inputs) passwordUnusable() *conditions.Problem {
	if !i.haveLogins() || i.Logins.Problem == "" {
		return nil
	}
	return conditions.SecretUnusable(passwords.SecretField, i.Logins.Problem)
}

// haveLogins reports whether there are members that are to require a login.
func (i Inputs) haveLogins() bool {
	return i.Situation.RequiresLogin && i.Cluster.Status.Membership != nil
}

func formerUntil(record databasev1alpha1.EtcdLogin) string {
	if record.FormerUntil == nil {
		return ""
	}
	return record.FormerUntil.UTC().Format(time.RFC3339)
}
