package v1

import (
	networkingv1 "k8s.io/api/networking/v1"
)

// Ingress asks for an Ingress, https://kubernetes.io/docs/concepts/services-networking/ingress/
type Ingress struct {
	// IngressClass of the controller that serves the Ingress, such as nginx. Default: the cluster's default class.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ClassName *string `json:"className,omitempty"`

	// DNS name that clients use, such as shop.example.org; its first part may be *. Default: any.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Host string `json:"host,omitempty"`

	// URL path of the requests, such as /api. It starts with /. Default: /.
	// +optional
	// +kubebuilder:default=/
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/`
	Path string `json:"path,omitempty"`

	// How the path is compared with that of a request: Prefix part by part, Exact as a whole, ImplementationSpecific
	// as the ingress controller does it. Default: Prefix.
	// +optional
	// +kubebuilder:default=Prefix
	// +kubebuilder:validation:Enum=Prefix;Exact;ImplementationSpecific
	PathType networkingv1.PathType `json:"pathType,omitempty"`

	// Number of the port of spec.ports that requests are sent to. Default: the first TCP port.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`

	// Secret in the same namespace with the host's certificate. The URL then starts with https. Default: none, and the
	// URL starts with http.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	TLSSecret string `json:"tlsSecret,omitempty"`

	// Extra annotations of the Ingress, such as settings for its controller or a certificate manager. The operator's
	// own take precedence. At most 32.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 317 && size(self[k]) <= 262144)"
	// +kubebuilder:validation:XValidation:rule="...",message="ingress.annotations: a key has at most 317 characters, its value at most 262144"
	Annotations map[string]string `json:"annotations,omitempty"`
}
