// Package parts holds the pieces of desired state that mean the same in every kind. It is pure: the same input gives
// the same bytes.
package parts

import (
	"maps"
)

// Recommended labels, https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/
const (
	LabelName      = "app.kubernetes.io/name"
	LabelInstance  = "app.kubernetes.io/instance"
	LabelManagedBy = "app.kubernetes.io/managed-by"

	// ManagedBy is the value of LabelManagedBy on everything the operator makes.
	ManagedBy = "mainstay-operator"
)

// operatorLabels are the labels of the manager's own pods, as config/manager has them.
var operatorLabels = map[string]string{LabelName: ManagedBy, "control-plane": "controller-manager"}

// SelectorLabels returns the labels that select the pods of one object. They never change: a workload's selector is
// immutable.
func SelectorLabels(appName, instance string) map[string]string {
	return map[string]string{LabelName: appName, LabelInstance: instance}
}

// Labels returns the labels that every child bears.
func Labels(appName, instance string) map[string]string {
	return Merge(SelectorLabels(appName, instance), map[string]string{LabelManagedBy: ManagedBy})
}

// Merge merges two maps; where both have a key, ours wins.
func Merge(theirs, ours map[string]string) map[string]string {
	merged := make(map[string]string, len(theirs)+len(ours))
	maps.Copy(merged, theirs)
	maps.Copy(merged, ours)
	return merged
}
