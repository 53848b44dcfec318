package easyservice

import (
	"cmp"
	"net"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
)

// endpoints returns all addresses of all ports, sorted and never nil. service is nil when there is none, podPorts is
// what its pods listen on; external are the addresses of ingress controllers.
func endpoints(service *corev1.Service, podPorts listener, pods []corev1.Pod, external ...appv1.Endpoint) []appv1.Endpoint {
	list := append([]appv1.Endpoint{}, external...)
	if service == nil {
		return list
	}
	nodeAddress := lowestNodeAddress(pods)
	for _, p := range service.Spec.Ports {
		add := func(serviceType corev1.ServiceType, host string, port int32) {
			url := urlScheme(p) + "://" + net.JoinHostPort(host, strconv.Itoa(int(port)))
			list = append(list, appv1.Endpoint{Name: cmp.Or(p.Name, strconv.Itoa(int(p.Port))), Type: serviceType, URL: url})
		}
		add(corev1.ServiceTypeClusterIP, service.Name+"."+service.Namespace+".svc", endpointPort(service, podPorts, p))
		if p.NodePort != 0 && nodeAddress != "" {
			add(corev1.ServiceTypeNodePort, nodeAddress, p.NodePort)
		}
		for _, ingress := range service.Status.LoadBalancer.Ingress {
			add(corev1.ServiceTypeLoadBalancer, cmp.Or(ingress.Hostname, ingress.IP), p.Port)
		}
	}
	slices.SortFunc(list, func(a, b appv1.Endpoint) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(string(a.Type), string(b.Type)), strings.Compare(a.URL, b.URL))
	})
	return list
}

// endpointPort is the port to use with the Service's name: for a headless Service, the port of the pods.
func endpointPort(service *corev1.Service, podPorts listener, p corev1.ServicePort) int32 {
	if service.Spec.ClusterIP != corev1.ClusterIPNone {
		return p.Port
	}
	number, _ := podPorts.numberOf(p.TargetPort.StrVal, p.Protocol)
	return cmp.Or(p.TargetPort.IntVal, number, p.Port)
}

// urlScheme is http or https by appProtocol, else by the port's name; else it is the protocol.
func urlScheme(p corev1.ServicePort) string {
	prefix, _, _ := strings.Cut(p.Name, "-")
	for _, said := range []string{ptr.Deref(p.AppProtocol, ""), prefix} {
		if said = strings.ToLower(said); said == "http" || said == "https" {
			return said
		}
	}
	return strings.ToLower(string(p.Protocol))
}

// lowestNodeAddress is the lowest address of the nodes that run a ready pod: such a node
// answers under either external traffic policy. Empty when there is none.
func lowestNodeAddress(pods []corev1.Pod) string {
	lowest := ""
	for i := range pods {
		host := pods[i].Status.HostIP
		if conditions.IsPodReady(&pods[i]) && (lowest == "" || host < lowest) {
			lowest = host
		}
	}
	return lowest
}
