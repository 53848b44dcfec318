package v1alpha1

// MemcachedAuth says who may use the cache. An application's first command on a
// connection is a set whose value is "<user> <password>"; the binary protocol is off.
type MemcachedAuth struct {
	// secretName of a Secret whose key "users" holds 1 to 4 lines <user>:<password> of
	// printable characters without spaces. memcached reads them when it starts: a change
	// replaces the pods, one at a time, by ones that know the lines before, too; when all
	// are replaced they are replaced once more, by ones that know no other lines.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Users Secret"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"}
	SecretName string `json:"secretName"`
}

// MemcachedTLS is how connections are kept from others' eyes: port speaks TLS.
type MemcachedTLS struct {
	// secretName of a Secret with the keys tls.crt, tls.key and ca.crt, as
	// cert-manager makes them. The certificate names <name>.<namespace>.svc, and
	// *.<name>-headless.<namespace>.svc for clients that know all nodes. A renewed
	// certificate is loaded by the running nodes, which keep their items; another
	// ca.crt takes new pods, since memcached never forgets one.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Certificate Secret"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"}
	SecretName string `json:"secretName"`

	// mode: with Required nothing but port is open, and it speaks TLS; with Optional
	// plaintextPort is open, too, and is in the clear. Default Required.
	// +optional
	// +kubebuilder:default=Required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Required"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Optional"}
	Mode MemcachedTLSMode `json:"mode,omitempty"`

	// plaintextPort is the one in the clear when mode is Optional; both Services
	// offer it. Default 11212.
	// +optional
	// +kubebuilder:default=11212
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=65535
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Plaintext Port"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	PlaintextPort int32 `json:"plaintextPort,omitempty"`

	// clientAuth: whether applications show a certificate. With Request one that is
	// shown is one that ca.crt vouches for; with Require everybody shows such a one, the
	// operator, too: by that of secretName, which must be for clients then. Default None.
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
