// Package v1 is the vocabulary that every kind shares: condition types and
// reasons, and the blocks of a spec that mean the same wherever they stand.
//
// Condition types and reasons are API. They are added, never renamed.
//
// +kubebuilder:object:generate=true
package v1
