package memcached

import (
	"k8s.io/apimachinery/pkg/api/meta"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
)

// credentialsInSync sets the condition that says whether all nodes know the users of the user's Secret and no others.
func credentialsInSync(m *cachev1alpha1.Memcached, u userRotation) {
	list := &m.Status.Conditions
	if m.Spec.Auth == nil {
		meta.RemoveStatusCondition(list, commonv1.ConditionCredentialsInSync)
		return
	}
	set := func(inSync bool, reason, message string) {
		conditions.Set(list, m.Generation, commonv1.ConditionCredentialsInSync, inSync, reason, message)
	}
	switch {
	case u.problem != "" && len(u.published.lines) == 0:
		conditions.SetSecretUnusable(list, m.Generation, commonv1.ConditionCredentialsInSync, authField, u.problem, "")
	case u.problem != "":
		conditions.SetSecretUnusable(list, m.Generation, commonv1.ConditionCredentialsInSync, authField, u.problem, "the users before stay")
	case len(u.wanted) == 0:
		return // it could not be read yet
	case u.hasUnpublished():
		set(false, commonv1.ReasonRotating,
			"the nodes learn the users that the Secret says when they have served for rollout.minReadySeconds: before, all would be replaced at "+
				"once")
	case len(u.published.lines) > len(u.wanted):
		set(false, commonv1.ReasonPasswordsOverlap,
			"the nodes learn the users that the Secret says, one at a time, and know those before until all have")
	case !u.completed:
		set(false, commonv1.ReasonRotating, "the nodes start, one at a time, with the users that the Secret says alone")
	default:
		set(true, commonv1.ReasonPasswordsAccepted, "every node knows the users that the Secret says")
	}
}

// unusable is the problem with the Secret of the users, while the users known before stay; nil otherwise.
func (u userRotation) unusable() *conditions.Problem {
	if u.problem == "" || len(u.published.lines) == 0 {
		return nil
	}
	return conditions.SecretUnusable(authField, u.problem)
}
