package v1

import (
	networkingv1 "k8s.io/api/networking/v1"
)

// Ingress asks for an Ingress, https://kubernetes.io/docs/concepts/services-networking/ingress/
type Ingress struct {
	// className of the ingress controller. Default: the cluster's.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ClassName *string `json:"className,omitempty"`

	// host that requests are for; its first part may be *. Default: any.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Host string `json:"host,omitempty"`

	// path that requests are for. Default /.
	// +optional
	// +kubebuilder:default=/
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/`
	Path string `json:"path,omitempty"`

	// pathType: Prefix goes by the path's parts, Exact by all of it,
	// ImplementationSpecific by what the ingress controller makes of it. Default Prefix.
	// +optional
	// +kubebuilder:default=Prefix
	// +kubebuilder:validation:Enum=Prefix;Exact;ImplementationSpecific
	PathType networkingv1.PathType `json:"pathType,omitempty"`

	// port of spec.ports that requests are sent to. Default: the first TCP port.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`

	// tlsSecret names the Secret with the host's certificate: then the URL is of https.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	TLSSecret string `json:"tlsSecret,omitempty"`

	// annotations of the Ingress, by which ingress controllers take further wishes. The
	// operator's own win.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 317 && size(self[k]) <= 262144)"
	// +kubebuilder:validation:XValidation:rule="...",message="ingress.annotations: a key has at most 317 characters, its value at most 262144"
	Annotations map[string]string `json:"annotations,omitempty"`
}
