package v1alpha1

// EtcdAuth says where the applications' password comes from. etcd then serves no client that has not logged in.
type EtcdAuth struct {
	// secretName of a Secret whose key "password" holds the applications' password, of at most 72 bytes. Applications read user
	// and password from the Secret <name>-binding. A change of the password arrives there with another user, once etcd lets that
	// one in; the user before is let in for 5 minutes more.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Password Secret"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"}
	SecretName string `json:"secretName"`
}

// EtcdTLS is how the connections of clients are kept from others' eyes. There is no port for clients without it.
type EtcdTLS struct {
	// secretName of a Secret with the keys tls.crt, tls.key and ca.crt, as cert-manager makes them. The certificate names
	// <name>.<namespace>.svc and *.<name>-headless.<namespace>.svc. A renewed certificate is shown by the running members,
	// which close no connection. When the authority is another one, both are trusted in between; with clientAuth Required
	// that takes new pods, one at a time.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Certificate Secret"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"}
	SecretName string `json:"secretName"`

	// clientAuth: whether clients show a certificate that ca.crt vouches for. With Required the operator shows that of
	// secretName to the members, and so does etcd's own gateway for JSON, so it must be one for clients, too. It cannot
	// change later. Default None.
	// +optional
	// +kubebuilder:default=None
	// +kubebuilder:validation:XValidation:rule="self == oldSelf"
	// +kubebuilder:validation:XValidation:rule="...",message="tls.clientAuth cannot change; make a new EtcdCluster and move the data"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Client Certificates"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:None"}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Required"}
	ClientAuth EtcdClientAuth `json:"clientAuth,omitempty"`
}

// EtcdClientAuth says what clients show. etcd cannot ask for a certificate and do without it.
// +kubebuilder:validation:Enum=None;Required
type EtcdClientAuth string

const (
	// EtcdClientAuthNone : nothing.
	EtcdClientAuthNone EtcdClientAuth = "None"
	// EtcdClientAuthRequired : everyone shows a valid certificate.
	EtcdClientAuthRequired EtcdClientAuth = "Required"
)

// EtcdBinding names the Secret that a client needs (servicebinding.io).
type EtcdBinding struct {
	// name of the Secret: type, host, port, uri, endpoints; with tls also ssl and ca.crt; with auth username and password.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Client Secret"
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"}
	Name string `json:"name"`
}
