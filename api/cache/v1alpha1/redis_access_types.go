package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
)

// RedisAuth says where the applications' password comes from.
type RedisAuth struct {
	// Secret in the same namespace whose key password has the applications' password. Applications read the Secret
	// <name>-auth, which has a changed one once every node accepts it; the former one is valid for 5 minutes more.
	// Default: a password is generated.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Password Secret"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"}
	SecretName string `json:"secretName"`
}

// RedisTLS is how connections are kept from others' eyes. There is no port without it.
type RedisTLS struct {
	// Secret in the same namespace with the keys tls.crt, tls.key and ca.crt, as cert-manager creates it. The
	// certificate names <name>.<namespace>.svc, and <name>-replicas.<namespace>.svc for reads from replicas. A change
	// restarts nothing and closes no connection.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Certificate Secret"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"}
	SecretName string `json:"secretName"`

	// Whether applications show a certificate of a CA in ca.crt: None asks for none, Optional checks one that is
	// shown, Required refuses clients without one. Unless None, the certificate of spec.tls.secretName must be valid
	// for clients, too. It cannot be changed. Default: None.
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
	// How clients reach the ports: ClusterIP within the cluster, NodePort on every node, LoadBalancer in front of the
	// nodes. Default: ClusterIP.
	// +optional
	// +kubebuilder:default=ClusterIP
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Service Type"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:ClusterIP"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:NodePort"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:LoadBalancer"}
	Type corev1.ServiceType `json:"type,omitempty"`

	// Extra annotations of both Services, such as a cloud's settings for its load balancer. The operator's own take
	// precedence. At most 32.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 317 && size(self[k]) <= 262144)"
	// +kubebuilder:validation:XValidation:rule="...",message="service.annotations: a key has at most 317 characters, its value at most 262144"
	Annotations map[string]string `json:"annotations,omitempty"`
}
