package status

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/passwords"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// setCredentialsInSync says whether all nodes that answer accept what the Secrets say.
func setCredentialsInSync(list *[]metav1.Condition, generation int64, s topology.Situation, c config.Credentials) {
	reason, message := credentialsState(s, c)
	if reason == commonv1.ReasonPasswordsAccepted && omitUntilFirstReply(list, commonv1.ConditionCredentialsInSync, s.World) {
		return
	}
	if reason == commonv1.ReasonRotating && isOnlyUnsent(s, c) && meta.IsStatusConditionTrue(*list, commonv1.ConditionCredentialsInSync) {
		return
	}
	inSync := reason == commonv1.ReasonPasswordsAccepted || reason == commonv1.ReasonPasswordsOverlap
	conditions.Set(list, generation, commonv1.ConditionCredentialsInSync, inSync, reason, message)
}

// unsolved is the most urgent of the problems with passwords that no pass will repair by itself; nil if there is none.
func unsolved(s topology.Situation, c config.Credentials) *conditions.Problem {
	return conditions.First(lockedOut(s), passwordUnusable(s, c), passwordRefused(s))
}

// lockedOut is the problem that nodes do not know the operator's password, and no master serves with which they could be restarted.
func lockedOut(s topology.Situation) *conditions.Problem {
	locked := s.Where(topology.Node.IsLockedOut)
	if len(locked) == 0 || isReadmitting(s) {
		return nil
	}
	return &conditions.Problem{Reason: commonv1.ReasonLockedOut, Message: lockedOutMessage(s, locked)}
}

// passwordUnusable is the problem with the Secret of the applications' password. It waits while a node is readmitted.
func passwordUnusable(s topology.Situation, c config.Credentials) *conditions.Problem {
	if c.Problem == "" || isReadmitting(s) {
		return nil
	}
	p := conditions.SecretUnusable(passwords.SecretField, c.Problem)
	p.Message += "; until then the last password stays"
	return p
}

// passwordRefused is the problem that nodes refuse to change their passwords. It waits while a node is readmitted.
func passwordRefused(s topology.Situation) *conditions.Problem {
	refusing := s.Where(func(m topology.Node) bool { return m.RefusesPasswords })
	if len(refusing) == 0 || isReadmitting(s) {
		return nil
	}
	return &conditions.Problem{Reason: commonv1.ReasonPasswordRefused, Message: strings.Join(topology.NamesOf(refusing), ", ") +
		" refuses to change its passwords; delete the pod, a replica's first: it starts with the current ones"}
}

// isReadmitting reports whether nodes that do not know the operator's password are about to be restarted, while a master serves.
func isReadmitting(s topology.Situation) bool {
	_, serving := s.ServingMaster()
	return serving && s.Count(topology.Node.IsLockedOut) > 0
}

// isOnlyUnsent reports whether the nodes only wait for an operator that has just started to send them the passwords that they have:
// the condition that its predecessor set holds.
func isOnlyUnsent(s topology.Situation, c config.Credentials) bool {
	return !c.IsUnpublished() && !c.Rotation.IsUnderWay() &&
		s.Count(func(m topology.Node) bool { return m.HasOldPasswords() && !m.PasswordsUnsent }) == 0
}

func credentialsState(s topology.Situation, c config.Credentials) (reason, message string) {
	p := unsolved(s, c)
	switch last := c.OverlapEnd(); {
	case isReadmitting(s):
		return commonv1.ReasonReadmitting, strings.Join(topology.NamesOf(s.Where(topology.Node.IsLockedOut)), ", ") +
			" does not know the operator's password and is restarted once all others are in sync"
	case p != nil:
		return p.Reason, p.Message
	case c.IsUnpublished() || s.Count(topology.Node.HasOldPasswords) > 0:
		return commonv1.ReasonRotating, "the nodes are being sent the passwords that the Secrets hold"
	case c.Rotation.IsUnderWay():
		return commonv1.ReasonRotating, rotationMessage(s, c.Rotation)
	case !last.IsZero():
		return commonv1.ReasonPasswordsOverlap, "the password before is accepted too, until " + last.Format(time.RFC3339)
	}
	return commonv1.ReasonPasswordsAccepted, "every node that answers accepts what the Secrets say"
}

// rotationMessage says at which stage the rotation of the operator's own passwords is, and what it waits for.
func rotationMessage(s topology.Situation, r config.Rotation) string {
	until := r.Until.Format(time.RFC3339)
	switch {
	case r.Until.IsZero():
		return "the new passwords of the operator, the replicas and the backups are being written to the Secrets"
	case r.Former:
		return "the operator, the replicas and the backups use new passwords; the former ones are accepted until " + until
	}
	message := "every node accepts new passwords of the operator, the replicas and the backups, which are used from " + until + " on"
	if behind := s.NodesBehind(); len(behind) > 0 {
		message += ", once these nodes answer and accept them: " + strings.Join(behind, ", ")
	}
	return message
}

// lockedOutMessage says how to regain a Redis that serves and cannot be commanded. Nothing is deleted
// here: what the processes hold in memory may be nowhere else.
func lockedOutMessage(s topology.Situation, locked []topology.Node) string {
	out := fmt.Sprintf("%s does not know the operator's password: applications are served, and no failover is possible. "+
		"Restore Secret %q as it was", strings.Join(topology.NamesOf(locked), ", "), s.SystemName())
	if s.Persistence == cachev1alpha1.RedisPersistNone {
		return out + ". Without it, copy the data to another Redis with the applications' password before you delete a pod: it is in memory alone"
	}
	return out + fmt.Sprintf(", or let the last master come back from its volume: delete pod %s, annotate this object with %s=%d, "+
		"and the others are restarted one by one", s.Status.Master, cachev1alpha1.RedisAllowUnsafePromotion, s.Status.Epoch)
}
