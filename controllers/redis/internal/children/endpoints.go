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
// selector (podToEndpoint in k8s.io/endpointslice/utils.go). It reports whether the slice has changed. If the pod has no address of the
// slice's family, nothing changes.
func LeadTo(slice *discoveryv1.EndpointSlice, pod *corev1.Pod) bool {
	addresses := addressesOf(pod, slice.AddressType)
	if len(addresses) == 0 || len(slice.Endpoints) == 1 && isOf(slice.Endpoints[0], pod, addresses) {
		return false
	}
	next := discoveryv1.Endpoint{
		Addresses: addresses,
		// The Service publishes addresses that are not ready.
		Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true), Serving: ptr.To(conditions.IsPodReady(pod)), Terminating: ptr.To(false)},
		TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Zone:       zoneOf(pod, slice.Endpoints),
	}
	if pod.Spec.NodeName != "" {
		next.NodeName = &pod.Spec.NodeName
	}
	slice.Endpoints = []discoveryv1.Endpoint{next}
	if len(slice.Ports) == 0 { // there was no endpoint
		slice.Ports = []discoveryv1.EndpointPort{{Name: ptr.To(portName), Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To[int32](wire.Port)}}
	}
	// As kube-controller-manager does where no pod has changed: kube-proxy would measure from the former time.
	delete(slice.Annotations, corev1.EndpointsLastChangeTriggerTime)
	return true
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

// addressesOf returns the addresses of a pod that are of one family.
func addressesOf(pod *corev1.Pod, family discoveryv1.AddressType) []string {
	var all []string
	for _, of := range pod.Status.PodIPs {
		address, err := netip.ParseAddr(of.IP)
		if err == nil && address.Is4() == (family == discoveryv1.AddressTypeIPv4) && family != discoveryv1.AddressTypeFQDN {
			all = append(all, address.String())
		}
	}
	return all
}
