package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mainstay-operator/mainstay-operator/hack/crdbounds/activity"
)

// oneRun is why an Activity does not change.
const oneRun = "an Activity is the record of one run; make a new one"

// fields are those that one rule of an Activity's spec keeps as they are.
type fields struct {
	names     []string
	defaulted []string // those that are always there, since they have a default
}

// activityFields are the fields of the first release. Its rules are on the spec as a whole, and no rule can be added there later.
var activityFields = []fields{
	{names: []string{"command", "args", "envs", "image", "output"}},
	{names: []string{"host", "execuser", "execcwd", "timeout"}, defaulted: []string{"retries", "security"}},
	{names: []string{"imagePullPolicy", "imagePullSecrets", "podLabels", "podAnnotations", "terminationGracePeriodSeconds"}},
	{names: []string{"nodeSelector", "tolerations", "affinity", "topologySpreadConstraints", "priorityClassName"}},
}

// unchanged returns the rule that an update leaves the fields as they are.
func unchanged(f fields) map[string]any {
	var terms []string
	for _, name := range f.defaulted {
		terms = append(terms, fmt.Sprintf("self.%[1]s == oldSelf.%[1]s", name))
	}
	for _, name := range f.names {
		term := fmt.Sprintf("has(self.%[1]s) == has(oldSelf.%[1]s) && (!has(self.%[1]s) || self.%[1]s == oldSelf.%[1]s)", name)
		if name == "command" { // it is required
			term = "self.command == oldSelf.command"
		}
		terms = append(terms, term)
	}
	return map[string]any{
		"rule": strings.Join(terms, " && "),
		"message": fmt.Sprintf("only %s can be changed, not %s: %s", enumerate(activity.MutableFields, "and"),
			enumerate(slices.Concat(f.names, f.defaulted), "or"), oneRun),
	}
}

func enumerate(names []string, conjunction string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " " + conjunction + " " + names[last]
}

// freezeNewFields gives each field of an Activity's spec that is in neither list a rule that it does not change. A rule on a field
// compares two values, so the field must always be there: it is required, or its type names a default.
func freezeNewFields(spec map[string]any) error {
	properties, _ := spec["properties"].(map[string]any)
	required, _ := spec["required"].([]any)
	for name, property := range properties {
		known := func(f fields) bool { return slices.Contains(f.names, name) || slices.Contains(f.defaulted, name) }
		if slices.Contains(activity.MutableFields, name) || slices.ContainsFunc(activityFields, known) {
			continue
		}
		schema := property.(map[string]any)
		if _, ok := schema["default"]; !ok && !slices.Contains(required, any(name)) {
			return fmt.Errorf("spec.%s of Activity needs a default, or a place in MutableFields of hack/crdbounds/activity", name)
		}
		has, _ := schema["x-kubernetes-validations"].([]any)
		schema["x-kubernetes-validations"] = append([]any{rule("self == oldSelf", name+" cannot be changed: "+oneRun)}, has...)
	}
	return nil
}
