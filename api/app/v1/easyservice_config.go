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
	// kind: ConfigMap or Secret.
	// +required
	Kind ConfigKind `json:"kind"`

	// name of the object, in the same namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name"`

	// optional: it need not exist. A missing one that is not optional makes the object
	// Degraded, and what runs continues.
	// +optional
	Optional bool `json:"optional,omitempty"`
}
