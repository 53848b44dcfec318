package v1

// ConfigKind is a type of object that holds configuration.
// +kubebuilder:validation:Enum=ConfigMap;Secret
type ConfigKind string

const (
	// ConfigMap : a core/v1 ConfigMap.
	ConfigMap ConfigKind = "ConfigMap"
	// Secret : a core/v1 Secret.
	Secret ConfigKind = "Secret"
)

// ConfigRef names an object whose content the pods depend on.
type ConfigRef struct {
	// Type of the object: ConfigMap or Secret.
	// +required
	Kind ConfigKind `json:"kind"`

	// Which ConfigMap or Secret, by its name in the same namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name"`

	// Whether the ConfigMap or Secret may be missing. If one that must exist is missing, the object is Degraded, and
	// what runs stays as it is. Default: false.
	// +optional
	Optional bool `json:"optional,omitempty"`
}
