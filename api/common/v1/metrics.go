package v1

// ServiceMonitor asks for one, by which the Prometheus operator finds the metrics.
type ServiceMonitor struct {
	// Extra labels of the ServiceMonitor, by which many a Prometheus selects it, such as release: prometheus. At most
	// 16.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 317 && size(self[k]) <= 63)"
	// +kubebuilder:validation:XValidation:rule="...",message="metrics.serviceMonitor.labels:"
	// +kubebuilder:validation:XValidation:rule="...",message="a key has at most 317 characters, its value at most 63"
	Labels map[string]string `json:"labels,omitempty"`

	// Time between two scrapes, such as 30s or 1m. Default: Prometheus' own.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9]{1,6}(ms|s|m|h))+$`
	Interval string `json:"interval,omitempty"`
}
