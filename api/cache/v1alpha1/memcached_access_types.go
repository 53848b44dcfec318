package v1alpha1

// MemcachedAuth says who may use the cache. An application's first command on a
// connection is a set whose value is "<user> <password>"; the binary protocol is off.
type MemcachedAuth struct {
	// Secret in the same namespace whose key users has 1 to 4 lines <user>:<password>, of printable characters without
	// spaces. A change replaces the pods twice, one at a time: with pods that accept former and new lines, then with
	// pods that accept only the new ones.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Users Secret"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"}
	SecretName string `json:"secretName"`
}

// MemcachedTLS is how connections are kept from others' eyes: port speaks TLS.
type MemcachedTLS struct {
	// Secret in the same namespace with the keys tls.crt, tls.key and ca.crt, as cert-manager creates it. The
	// certificate names <name>.<namespace>.svc and *.<name>-headless.<namespace>.svc. A renewed one restarts nothing;
	// another ca.crt replaces the pods.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Certificate Secret"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"}
	SecretName string `json:"secretName"`

	// Whether there is a port without TLS, too: with Required there is none, with Optional spec.tls.plaintextPort is
	// open. Default: Required.
	// +optional
	// +kubebuilder:default=Required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Required"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Optional"}
	Mode MemcachedTLSMode `json:"mode,omitempty"`

	// Number of the port without TLS, if spec.tls.mode is Optional; from 1024 to 65535. Both Services offer it.
	// Default: 11212.
	// +optional
	// +kubebuilder:default=11212
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=65535
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Plaintext Port"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	PlaintextPort int32 `json:"plaintextPort,omitempty"`

	// Whether applications show a certificate of a CA in ca.crt: None asks for none, Request checks one that is shown,
	// Require refuses clients without one. With Require the certificate of spec.tls.secretName must be valid for
	// clients, too. Default: None.
	// +optional
	// +kubebuilder:default=None
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Client Certificates"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:None"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Request"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Require"}
	ClientAuth MemcachedClientAuth `json:"clientAuth,omitempty"`
}

// MemcachedTLSMode says whether there is a port in the clear, too.
// +kubebuilder:validation:Enum=Required;Optional
type MemcachedTLSMode string

const (
	// MemcachedTLSRequired : there is no port in the clear.
	MemcachedTLSRequired MemcachedTLSMode = "Required"
	// MemcachedTLSOptional : there is a port in the clear in addition to the one that speaks TLS.
	MemcachedTLSOptional MemcachedTLSMode = "Optional"
)

// MemcachedClientAuth says what applications show.
// +kubebuilder:validation:Enum=None;Request;Require
type MemcachedClientAuth string

const (
	// MemcachedClientAuthNone : nothing.
	MemcachedClientAuthNone MemcachedClientAuth = "None"
	// MemcachedClientAuthRequest : who shows a certificate shows a valid one.
	MemcachedClientAuthRequest MemcachedClientAuth = "Request"
	// MemcachedClientAuthRequire : everyone shows a valid certificate.
	MemcachedClientAuthRequire MemcachedClientAuth = "Require"
)
