package v1

import (
	networkingv1 "k8s.io/api/networking/v1"
)

// NetworkPolicy says who may connect to the pods. Everybody else is turned away,
// where the cluster's network enforces such policies.
type NetworkPolicy struct {
	// Clients that may connect, as in a NetworkPolicy of Kubernetes; those from outside of the cluster are an ipBlock.
	// At most 16. Default: every pod of the same namespace.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	From []networkingv1.NetworkPolicyPeer `json:"from,omitempty"`
}
