package easyservice

import (
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/utils/ptr"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// httpRouteType is the type that a Gateway API controller reads.
var httpRouteType = *metav1ac.TypeMeta().WithAPIVersion("gateway.networking.k8s.io/v1").WithKind("HTTPRoute")

// networkChildren are the children that lead to the Service or the pods, or limit who may reach them.
func networkChildren(e *appv1.EasyService, all []listener) []converge.Child {
	var children []converge.Child
	if e.Spec.NetworkPolicy != nil {
		children = append(children, parts.NetworkPolicy(appName, e.Name, e.Spec.NetworkPolicy, policyPorts(e.Spec.Ports, all)))
	}
	if e.Spec.Ingress != nil {
		children = append(children, ingress(e, e.Spec.Ingress))
	}
	if e.Spec.Gateway != nil {
		children = append(children, httpRoute(e, *e.Spec.Gateway))
	}
	if m := e.Spec.Metrics; m != nil {
		children = append(children, parts.ServiceMonitor(appName, e.Name, &m.ServiceMonitor, m.Port, m.Path))
	}
	return children
}

// policyPorts are the sockets of the containers: policies know nothing of a Service's ports. They include those of pods
// of another release, and of one that runs again after a rollback.
func policyPorts(ports []appv1.Port, all []listener) []networkingv1.NetworkPolicyPort {
	asked := socketsOf(ports)
	list := make([]networkingv1.NetworkPolicyPort, 0, len(asked))
	for _, at := range append(asked, otherSockets(asked, all)...) {
		list = append(list, networkingv1.NetworkPolicyPort{Port: ptr.To(intstr.FromInt32(at.number)), Protocol: ptr.To(at.protocol)})
	}
	return list
}

func httpRoute(e *appv1.EasyService, r appv1.Route) *parts.OptionalObject {
	parents := make([]any, 0, len(r.ParentRefs))
	for _, p := range r.ParentRefs {
		parent := map[string]any{"name": p.Name}
		if p.Namespace != "" {
			parent["namespace"] = p.Namespace
		}
		if p.SectionName != "" {
			parent["sectionName"] = p.SectionName
		}
		parents = append(parents, parent)
	}
	route := parts.NewOptionalObject(appName, e.Name, httpRouteType, "gateway")
	route.Spec = map[string]any{
		"parentRefs": parents,
		"rules": []any{map[string]any{
			"matches":     []any{map[string]any{"path": map[string]any{"type": "PathPrefix", "value": r.Path}}},
			"backendRefs": []any{map[string]any{"name": e.Name, "port": int64(portFor(e.Spec.Ports, r.Port).Port)}},
		}},
	}
	for _, name := range r.Hostnames {
		names, _ := route.Spec["hostnames"].([]any)
		route.Spec["hostnames"] = append(names, name)
	}
	return route
}
