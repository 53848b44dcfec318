package parts

import (
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// OptionalObject is a desired object of a type that a cluster may lack. It bears its owner's name.
type OptionalObject struct {
	metav1ac.TypeMetaApplyConfiguration    `json:",inline"`
	*metav1ac.ObjectMetaApplyConfiguration `json:"metadata,omitempty"`
	Spec                                   map[string]any `json:"spec,omitempty"`

	// Field of the owner's spec that asks for it.
	Field string `json:"-"`
}

// NewOptionalObject makes one with our labels; the caller gives it a spec.
func NewOptionalObject(appName, instance string, of metav1ac.TypeMetaApplyConfiguration, field string) *OptionalObject {
	meta := metav1ac.ObjectMeta().WithName(instance).WithLabels(Labels(appName, instance))
	return &OptionalObject{TypeMetaApplyConfiguration: of, ObjectMetaApplyConfiguration: meta, Field: field}
}

// IsApplyConfiguration marks it as an apply configuration.
func (*OptionalObject) IsApplyConfiguration() {}

// GetAPIVersion returns the group and version.
func (o *OptionalObject) GetAPIVersion() *string { return o.APIVersion }

// GetKind returns the type's name.
func (o *OptionalObject) GetKind() *string { return o.Kind }

// GetName returns the object's name.
func (o *OptionalObject) GetName() *string { return o.Name }

// AskedBy returns the field of the owner's spec that asks for it.
func (o *OptionalObject) AskedBy() string { return o.Field }

// ServiceMonitorType is what the Prometheus operator reads,
// https://prometheus-operator.dev/docs/api-reference/api/#monitoring.coreos.com/v1.ServiceMonitor
var ServiceMonitorType = *metav1ac.TypeMeta().WithAPIVersion("monitoring.coreos.com/v1").WithKind("ServiceMonitor")

// ServiceMonitor makes Prometheus scrape the metrics at path on the Service's port of that name.
func ServiceMonitor(appName, instance string, chosen *commonv1.ServiceMonitor, port, path string) *OptionalObject {
	monitor := NewOptionalObject(appName, instance, ServiceMonitorType, "metrics.serviceMonitor")
	monitor.Labels = Merge(chosen.Labels, monitor.Labels)
	endpoint := map[string]any{"port": port, "path": path}
	if chosen.Interval != "" {
		endpoint["interval"] = chosen.Interval
	}
	selector := map[string]any{}
	for key, value := range SelectorLabels(appName, instance) {
		selector[key] = value
	}
	monitor.Spec = map[string]any{
		"selector":  map[string]any{"matchLabels": selector},
		"endpoints": []any{endpoint},
	}
	return monitor
}
