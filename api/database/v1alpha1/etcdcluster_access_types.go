package v1alpha1

// EtcdAuth says where the applications' password comes from. etcd then serves no client that has not logged in.
type EtcdAuth struct {
	// Secret in the same namespace whose key password has the applications' password, of at most 72 bytes.
	// Applications read the Secret <name>-binding, which has a changed one, with another user, once etcd accepts it;
	// the former user is valid for 5 minutes more.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Password Secret"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"}
	SecretName string `json:"secretName"`
}

// EtcdTLS is how the connections of clients are kept from others' eyes. There is no port for clients without it.
type EtcdTLS struct {
	// Secret in the same namespace with the keys tls.crt, tls.key and ca.crt, as cert-manager creates it. The
	// certificate names <name>.<namespace>.svc and *.<name>-headless.<namespace>.svc. A renewed one restarts nothing;
	// another ca.crt replaces the pods if spec.tls.clientAuth is Required.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Certificate Secret"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"}
	SecretName string `json:"secretName"`

	// Whether clients show a certificate of a CA in ca.crt: None asks for none, Required refuses clients without one.
	// With Required the certificate of spec.tls.secretName must be valid for clients, too. It cannot be changed.
	// Default: None.
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
	// Secret that a client needs: type, host, port, uri and endpoints; with spec.tls also ssl and ca.crt; with
	// spec.auth also username and password.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Client Secret"
	// +operator-sdk:csv:customresourcedefinitions:type=status,xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"}
	Name string `json:"name"`
}
