package easyservice

import (
	"cmp"
	"strconv"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// ingress leads requests from outside to one port of the Service.
func ingress(e *appv1.EasyService, chosen *appv1.Ingress) *networkingv1ac.IngressApplyConfiguration {
	port := portFor(e.Spec.Ports, chosen.Port).Port
	rule := networkingv1ac.IngressRule().WithHTTP(networkingv1ac.HTTPIngressRuleValue().WithPaths(
		networkingv1ac.HTTPIngressPath().
			WithPath(cmp.Or(chosen.Path, "/")).
			WithPathType(cmp.Or(chosen.PathType, networkingv1.PathTypePrefix)).
			WithBackend(networkingv1ac.IngressBackend().WithService(networkingv1ac.IngressServiceBackend().
				WithName(e.Name).
				WithPort(networkingv1ac.ServiceBackendPort().WithNumber(port))))))
	tls := networkingv1ac.IngressTLS().WithSecretName(chosen.TLSSecret)
	if chosen.Host != "" {
		rule.WithHost(chosen.Host)
		tls.WithHosts(chosen.Host)
	}
	spec := networkingv1ac.IngressSpec().WithRules(rule)
	if chosen.TLSSecret != "" {
		spec.WithTLS(tls)
	}
	spec.IngressClassName = chosen.ClassName
	return networkingv1ac.Ingress(e.Name, "").
		WithLabels(parts.Labels(appName, e.Name)).
		WithAnnotations(chosen.Annotations).
		WithSpec(spec)
}

// ingressEndpoints are the addresses of the Ingress as it stands: its host, else those in its status. A host with a
// wildcard is no address.
func ingressEndpoints(e *appv1.EasyService, entry *networkingv1.Ingress) []appv1.Endpoint {
	chosen := e.Spec.Ingress
	if chosen == nil || entry == nil {
		return nil
	}
	var hosts []string
	switch {
	case chosen.Host == "":
		for _, given := range entry.Status.LoadBalancer.Ingress {
			hosts = append(hosts, cmp.Or(given.Hostname, urlHost(given.IP)))
		}
	case !strings.HasPrefix(chosen.Host, "*"):
		hosts = []string{chosen.Host}
	}
	scheme := "http://"
	if chosen.TLSSecret != "" {
		scheme = "https://"
	}
	port := portFor(e.Spec.Ports, chosen.Port)
	name := cmp.Or(port.Name, strconv.Itoa(int(port.Port)))
	list := make([]appv1.Endpoint, 0, len(hosts))
	for _, host := range hosts {
		list = append(list, appv1.Endpoint{Name: name, Type: appv1.EndpointIngress, URL: scheme + host + cmp.Or(chosen.Path, "/")})
	}
	return list
}

// urlHost writes an IP address as a URL has it.
func urlHost(ip string) string {
	if strings.Contains(ip, ":") {
		return "[" + ip + "]"
	}
	return ip
}
