package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
)

// RedisAuth says where the applications' password comes from.
type RedisAuth struct {
	// secretName of a Secret whose key "password" holds the applications'
	// password. Applications read it from the Secret <name>-auth, where a change
	// arrives once every node accepts it; the password before is accepted for 5
	// minutes more. Default: one is generated.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Password Secret"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"}
	SecretName string `json:"secretName"`
}

// RedisTLS is how connections are kept from others' eyes. There is no port without it.
type RedisTLS struct {
	// secretName of a Secret with the keys tls.crt, tls.key and ca.crt, as
	// cert-manager makes them. The certificate names <name>.<namespace>.svc, and
	// <name>-replicas.<namespace>.svc for those who read from the replicas. A change
	// of the Secret is handed to the running servers, which close no connection; when
	// the authority is another one, in steps in which both are trusted.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Certificate Secret"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"}
	SecretName string `json:"secretName"`

	// clientAuth: whether applications show a certificate that ca.crt vouches for.
	// With Optional and Required the replicas show theirs to the master, so it must be
	// one for clients, too. It cannot change later. Default None.
	// +optional
	// +kubebuilder:default=None
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="tls.clientAuth cannot change; make a new Redis and move the data"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Client Certificates"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:None"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Optional"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Required"}
	ClientAuth RedisClientAuth `json:"clientAuth,omitempty"`
}

// RedisClientAuth says what applications show.
// +kubebuilder:validation:Enum=None;Optional;Required
type RedisClientAuth string

const (
	// RedisClientAuthNone : nothing but the password.
	RedisClientAuthNone RedisClientAuth = "None"
	// RedisClientAuthOptional : who shows a certificate shows a valid one.
	RedisClientAuthOptional RedisClientAuth = "Optional"
	// RedisClientAuthRequired : everyone shows a valid certificate.
	RedisClientAuthRequired RedisClientAuth = "Required"
)

// RedisService is how the Services <name> and <name>-replicas are reached.
type RedisService struct {
	// type: ClusterIP within the cluster, NodePort on every node, LoadBalancer in
	// front of the nodes. Default ClusterIP.
	// +optional
	// +kubebuilder:default=ClusterIP
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Service Type"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:ClusterIP"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:NodePort"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:LoadBalancer"}
	Type corev1.ServiceType `json:"type,omitempty"`

	// annotations of both Services. The operator's own win.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 317 && size(self[k]) <= 262144)"
	// +kubebuilder:validation:XValidation:rule="...",message="service.annotations: a key has at most 317 characters, its value at most 262144"
	Annotations map[string]string `json:"annotations,omitempty"`
}
