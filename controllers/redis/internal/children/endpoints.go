package children

import (
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// LeadTo makes a pod the only endpoint of an EndpointSlice of the client Service, as kube-controller-manager does by the Service's
// selector (podToEndpoint in k8s.io/endpointslice/utils.go), and reports whether that changed anything. A pod that has no address of the
// slice's family changes nothing. The zone is kept where the node stays the same; otherwise kube-controller-manager adds it.
func LeadTo(slice *discoveryv1.EndpointSlice, pod *corev1.Pod, now time.Time) bool {
	addresses := addressesOf(pod, slice.AddressType)
	if len(addresses) == 0 || len(slice.Endpoints) == 1 && isOf(slice.Endpoints[0], pod, addresses) {
		return false
	}
	next := discoveryv1.Endpoint{
		Addresses: addresses,
		// The Service publishes addresses that are not ready.
		Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true), Serving: ptr.To(conditions.IsPodReady(pod)), Terminating: ptr.To(false)},
		NodeName:   ptr.To(pod.Spec.NodeName),
		TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
	}
	for _, former := range slice.Endpoints {
		if ptr.Deref(former.NodeName, "") == pod.Spec.NodeName {
			next.Zone = former.Zone
		}
	}
	slice.Endpoints = []discoveryv1.Endpoint{next}
	slice.Ports = []discoveryv1.EndpointPort{{Name: ptr.To(portName), Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To[int32](wire.Port)}}
	if slice.Annotations == nil {
		slice.Annotations = map[string]string{}
	}
	// By this, kube-proxy measures how long clients waited for the change.
	slice.Annotations[corev1.EndpointsLastChangeTriggerTime] = now.UTC().Format(time.RFC3339Nano)
	return true
}

// isOf reports whether an endpoint is this pod already.
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
