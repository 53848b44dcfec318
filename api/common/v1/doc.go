// Package v1 is the vocabulary that every kind shares: condition types and
// reasons, and the blocks of a spec that mean the same wherever they stand.
//
// Condition types and reasons are API. They are added, never renamed.
//
// The types below are parts of the kinds' specs and statuses: no API server has a group common.
//
// +kubebuilder:object:generate=true
package v1

// docs/api.md has only packages with such a name.
// +groupName=common
