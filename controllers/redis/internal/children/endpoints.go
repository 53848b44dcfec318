package children

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// LeadTo makes a pod the only endpoint of an EndpointSlice of the Service of the master, as kube-controller-manager does by the Service's
// selector (reconcileByAddressType in k8s.io/endpointslice/reconciler.go). It reports whether the slice has changed. If the pod has no
// address of the slice's family, the slice has no endpoint: a former pod's would lead clients to a former master.
func LeadTo(slice *discoveryv1.EndpointSlice, pod *corev1.Pod) bool {
	addresses := addressesOf(pod, slice.AddressType)
	switch {
	case slice.AddressType == discoveryv1.AddressTypeFQDN, len(addresses)+len(slice.Endpoints) == 0,
		len(slice.Endpoints) == 1 && isOf(slice.Endpoints[0], pod, addresses):
		return false
	case len(addresses) == 0: // empty lists: null is no list of endpoints
		slice.Endpoints, slice.Ports = []discoveryv1.Endpoint{}, []discoveryv1.EndpointPort{}
	default:
		slice.Endpoints = []discoveryv1.Endpoint{endpointOf(pod, addresses, zoneOf(pod, slice.Endpoints))}
		if len(slice.Ports) == 0 { // there was no endpoint
			slice.Ports = []discoveryv1.EndpointPort{{Name: ptr.To(portName), Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To[int32](wire.Port)}}
		}
	}
	// As kube-controller-manager does where no pod has changed: kube-proxy would measure from the former time.
	delete(slice.Annotations, corev1.EndpointsLastChangeTriggerTime)
	return true
}

// endpointOf is a pod at these addresses (podToEndpoint in k8s.io/endpointslice/utils.go).
func endpointOf(pod *corev1.Pod, addresses []string, zone *string) discoveryv1.Endpoint {
	made := discoveryv1.Endpoint{
		Addresses: addresses,
		// The Service publishes addresses that are not ready.
		Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true), Serving: ptr.To(conditions.IsPodReady(pod)), Terminating: ptr.To(false)},
		TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Zone:       zone,
	}
	if pod.Spec.NodeName != "" {
		made.NodeName = &pod.Spec.NodeName
	}
	return made
}

// zoneOf returns the zone of a pod's node. Kubernetes copies it to pods since 1.35; before that, it is known if the former endpoint was on
// the same node, and otherwise kube-controller-manager adds it.
func zoneOf(pod *corev1.Pod, former []discoveryv1.Endpoint) *string {
	if zone := pod.Labels[corev1.LabelTopologyZone]; zone != "" {
		return &zone
	}
	for _, endpoint := range former {
		if endpoint.NodeName != nil && *endpoint.NodeName == pod.Spec.NodeName {
			return endpoint.Zone
		}
	}
	return nil
}

// isOf reports whether an endpoint already is this pod at these addresses.
func isOf(endpoint discoveryv1.Endpoint, pod *corev1.Pod, addresses []string) bool {
	return endpoint.TargetRef != nil && endpoint.TargetRef.UID == pod.UID && slices.Equal(endpoint.Addresses, addresses)
}

// addressesOf returns the addresses of a pod that are of one family. To Kubernetes, an IPv4-mapped IPv6 address is the IPv4 address.
func addressesOf(pod *corev1.Pod, family discoveryv1.AddressType) []string {
	var all []string
	for _, of := range pod.Status.PodIPs {
		address, err := netip.ParseAddr(of.IP)
		if address = address.Unmap(); err == nil && address.Is4() == (family == discoveryv1.AddressTypeIPv4) {
			all = append(all, address.String())
		}
	}
	return all
}
