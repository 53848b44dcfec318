package status

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// setSettingsInSync says which settings are not live yet, which wait for new pods and
// which the servers refuse. A refused one breaks nothing: the value before stays.
func setSettingsInSync(list *[]metav1.Condition, generation int64, s topology.Situation) {
	say := func(reason, message string) {
		conditions.Set(list, generation, commonv1.ConditionSettingsInSync, reason == commonv1.ReasonSettingsApplied, reason, message)
	}
	pending, _ := unappliedFields(s)
	waiting, pods := unrolledFields(s)
	switch refused := settingRefused(s); {
	case refused != nil:
		say(refused.Reason, refused.Message)
		conditions.Halt(list, generation, refused)
	case len(pending) > 0:
		message := strings.Join(pending, ", ") + ": to be set on the running servers"
		say(commonv1.ReasonApplyingSettings, message)
		if s.Count(topology.Node.Answers) > 0 { // or there is more wrong
			conditions.Set(list, generation, commonv1.ConditionReady, false, commonv1.ReasonRollingOut, message)
			conditions.Set(list, generation, commonv1.ConditionProgressing, true, commonv1.ReasonRollingOut, message)
		}
	case len(waiting) > 0:
		say(commonv1.ReasonRollingOut, fmt.Sprintf("%s: until their pods are recreated, %s run as before; all other settings are live",
			strings.Join(waiting, ", "), strings.Join(pods, ", ")))
	case omitUntilFirstReply(list, commonv1.ConditionSettingsInSync, s.World):
	default:
		say(commonv1.ReasonSettingsApplied, "every server runs with what the spec says")
	}
}

// settingRefused is the problem that the servers refuse settings.
func settingRefused(s topology.Situation) *conditions.Problem {
	_, refused := unappliedFields(s)
	if len(refused) == 0 {
		return nil
	}
	return &conditions.Problem{Reason: commonv1.ReasonInvalidSpec, Message: strings.Join(refused, "; ") + "; the value before stays in use"}
}

// unappliedFields are the fields that servers do not start with yet, and the words of those servers that refuse one.
func unappliedFields(s topology.Situation) (pending, refused []string) {
	want := s.LiveDirectives(0)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if words, is := s.RefusalOf(name); is {
			refused = append(refused, fmt.Sprintf("%s: the servers refuse %s %q: %s", specField(s.Spec, name), name, want[name], words))
		} else if s.Settings.Live[name] != want[name] {
			pending = append(pending, specField(s.Spec, name))
		}
	}
	return slices.Compact(pending), refused
}

// unrolledFields are the fields that some pods were not made for, and those pods.
func unrolledFields(s topology.Situation) (fields, pods []string) {
	accepted := s.RestartSettings(s.Settings)
	for _, m := range s.Nodes {
		apart := config.DifferingDirectives(m.RestartSettings, accepted)
		if len(apart) > 0 {
			pods = append(pods, m.Name)
		}
		for _, name := range apart {
			fields = append(fields, specField(s.Spec, name))
		}
	}
	slices.Sort(fields)
	return slices.Compact(fields), pods
}

// specField is the field of the spec that a directive follows.
func specField(spec config.Spec, name string) string {
	_, chosen := spec.Directives[name]
	switch {
	case chosen:
	case name == config.AppendOnly || name == config.Snapshots || name == config.AppendFsync:
		return "persistence"
	case name == config.MaxMemory || name == "repl-backlog-size":
		return "maxMemoryPercent"
	case name == "min-replicas-max-lag":
		return "durability.maxLagSeconds"
	case name == config.BaseDirectives:
		return "the operator's own settings"
	}
	return "config." + name
}
