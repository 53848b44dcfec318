package easyservice

import (
	"cmp"

	networkingv1 "k8s.io/api/networking/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// ingress leads requests from outside to one port of the Service.
func ingress(e *appv1.EasyService, chosen *appv1.Ingress) *networkingv1ac.IngressApplyConfiguration {
	port := cmp.Or(chosen.Port, firstTCP(e.Spec.Ports).Port)
	rule := networkingv1ac.IngressRule().WithHTTP(networkingv1ac.HTTPIngressRuleValue().WithPaths(
		networkingv1ac.HTTPIngressPath().
			WithPath(cmp.Or(chosen.Path, "/")).
			WithPathType(cmp.Or(chosen.PathType, networkingv1.PathTypePrefix)).
			WithBackend(networkingv1ac.IngressBackend().WithService(networkingv1ac.IngressServiceBackend().
				WithName(e.Name).
				WithPort(networkingv1ac.ServiceBackendPort().WithNumber(port))))))
	spec := networkingv1ac.IngressSpec().WithRules(rule)
	if chosen.TLSSecret != "" {
		spec.WithTLS(networkingv1ac.IngressTLS().WithSecretName(chosen.TLSSecret))
	}
	if chosen.Host != "" {
		rule.WithHost(chosen.Host)
		for i := range spec.TLS {
			spec.TLS[i].WithHosts(chosen.Host)
		}
	}
	spec.IngressClassName = chosen.ClassName
	return networkingv1ac.Ingress(e.Name, "").
		WithLabels(parts.Labels(kind, e.Name)).
		WithAnnotations(chosen.Annotations).
		WithSpec(spec)
}
