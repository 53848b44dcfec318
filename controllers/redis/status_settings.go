package redis

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
)

// setSettingsInSync says which settings are not live yet, which wait for new pods and
// which the servers refuse. A refused one breaks nothing: the value before stays.
func setSettingsInSync(list *[]metav1.Condition, r *cachev1alpha1.Redis, w world) {
	say := func(reason, message string) {
		conditions.Set(list, r.Generation, commonv1.ConditionSettingsInSync, reason == commonv1.ReasonSettingsApplied, reason, message)
	}
	pending, refused := unappliedFields(r, w)
	waiting, pods := unrolledFields(r, w)
	switch {
	case len(refused) > 0:
		problem := conditions.Problem{Reason: commonv1.ReasonInvalidSpec, NeedsHuman: true,
			Message: strings.Join(refused, "; ") + "; the value before stays in use"}
		say(problem.Reason, problem.Message)
		conditions.SetProblem(list, nil, r.Generation, &problem)
	case len(pending) > 0:
		message := strings.Join(pending, ", ") + ": to be set on the running servers"
		say(commonv1.ReasonApplyingSettings, message)
		if w.count(member.answers) > 0 { // or there is more amiss
			conditions.Set(list, r.Generation, commonv1.ConditionReady, false, commonv1.ReasonRollingOut, message)
			conditions.Set(list, r.Generation, commonv1.ConditionProgressing, true, commonv1.ReasonRollingOut, message)
		}
	case len(waiting) > 0:
		say(commonv1.ReasonRollingOut, fmt.Sprintf("%s: until their pods are made anew, %s run as before; all other settings are live",
			strings.Join(waiting, ", "), strings.Join(pods, ", ")))
	case omitUntilFirstReply(list, commonv1.ConditionSettingsInSync, w):
	default:
		say(commonv1.ReasonSettingsApplied, "every server runs with what the spec says")
	}
}

// unappliedFields are the fields that servers do not start with yet, and the words of those servers that refuse one.
func unappliedFields(r *cachev1alpha1.Redis, w world) (pending, refused []string) {
	want := liveDirectives(r, 0)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if words, is := w.refusalOf(name); is {
			refused = append(refused, fmt.Sprintf("%s: the servers refuse %s %q: %s", specField(r, name), name, want[name], words))
		} else if w.settings.Live[name] != want[name] {
			pending = append(pending, specField(r, name))
		}
	}
	return slices.Compact(pending), refused
}

// unrolledFields are the fields that some pods were not made for, and those pods.
func unrolledFields(r *cachev1alpha1.Redis, w world) (fields, pods []string) {
	mark := restartMark(r, w.settings)
	for _, m := range w.members {
		apart := differingMarks(m.configMark, mark)
		if len(apart) > 0 {
			pods = append(pods, m.name)
		}
		for _, name := range apart {
			fields = append(fields, specField(r, name))
		}
	}
	slices.Sort(fields)
	return slices.Compact(fields), pods
}

// specField is the field of the spec that a directive follows.
func specField(r *cachev1alpha1.Redis, name string) string {
	_, chosen := r.Spec.Config[name]
	switch {
	case chosen:
	case name == appendOnly || name == snapshots || name == "appendfsync":
		return "persistence"
	case name == maxMemory || name == "repl-backlog-size":
		return "maxMemoryPercent"
	case name == "min-replicas-max-lag":
		return "durability.maxLagSeconds"
	case name == baseDirectives:
		return "the operator's own settings"
	}
	return "config." + name
}
