package children

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

func TestLeadTo(t *testing.T) {
	pod := func(addresses ...string) *corev1.Pod {
		made := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "a-1", UID: "second"}, Spec: corev1.PodSpec{NodeName: "east"}}
		for _, address := range addresses {
			made.Status.PodIPs = append(made.Status.PodIPs, corev1.PodIP{IP: address})
		}
		made.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		return made
	}
	// As kube-controller-manager writes it.
	endpoint := func(address, name string, uid types.UID, node string, zone *string) discoveryv1.Endpoint {
		return discoveryv1.Endpoint{
			Addresses: []string{address}, NodeName: &node, Zone: zone,
			Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true), Serving: ptr.To(true), Terminating: ptr.To(false)},
			TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: "team", Name: name, UID: uid},
		}
	}
	zone, both := ptr.To("zone-1"), pod("192.0.2.2", "2001:db8::2")
	notReady := pod("192.0.2.2")
	notReady.Status.Conditions[0].Status = corev1.ConditionFalse
	notServing := endpoint("192.0.2.2", "a-1", "second", "east", nil)
	notServing.Conditions.Serving = ptr.To(false)
	present := []discoveryv1.Endpoint{endpoint("192.0.2.2", "a-1", "second", "east", zone)}
	elsewhere := []discoveryv1.Endpoint{endpoint("192.0.2.1", "a-0", "first", "west", zone)}
	labelled := pod("192.0.2.2")
	labelled.Labels = map[string]string{corev1.LabelTopologyZone: "zone-2"}
	unassigned, noNode := pod("192.0.2.2"), endpoint("192.0.2.2", "a-1", "second", "", nil)
	unassigned.Spec.NodeName, noNode.NodeName = "", nil
	former := []discoveryv1.Endpoint{endpoint("192.0.2.1", "a-0", "first", "east", zone)}

	for name, at := range map[string]struct {
		family discoveryv1.AddressType
		before []discoveryv1.Endpoint
		pod    *corev1.Pod
		want   *discoveryv1.Endpoint // nil if nothing changes; without an address if there is to be none
	}{
		"another pod of the node": {discoveryv1.AddressTypeIPv4, former, both,
			ptr.To(endpoint("192.0.2.2", "a-1", "second", "east", zone))},
		"a pod of another node": {discoveryv1.AddressTypeIPv4, elsewhere, both,
			ptr.To(endpoint("192.0.2.2", "a-1", "second", "east", nil))},
		"a pod that has its zone": {discoveryv1.AddressTypeIPv4, former, labelled,
			ptr.To(endpoint("192.0.2.2", "a-1", "second", "east", ptr.To("zone-2")))},
		"a pod without a node": {discoveryv1.AddressTypeIPv4, former, unassigned, &noNode},
		"no pod before":        {discoveryv1.AddressTypeIPv4, nil, both, ptr.To(endpoint("192.0.2.2", "a-1", "second", "east", nil))},
		"the other family":     {discoveryv1.AddressTypeIPv6, nil, both, ptr.To(endpoint("2001:db8::2", "a-1", "second", "east", nil))},
		"a pod not ready yet":  {discoveryv1.AddressTypeIPv4, nil, notReady, &notServing},
		"the former pod's address": {discoveryv1.AddressTypeIPv4,
			[]discoveryv1.Endpoint{endpoint("192.0.2.2", "a-0", "first", "east", nil)}, both,
			ptr.To(endpoint("192.0.2.2", "a-1", "second", "east", nil))},
		"two pods, one of them this": {discoveryv1.AddressTypeIPv4,
			append(slices.Clone(former), endpoint("192.0.2.2", "a-1", "second", "east", nil)), both,
			ptr.To(endpoint("192.0.2.2", "a-1", "second", "east", zone))},
		"an IPv4-mapped address": {discoveryv1.AddressTypeIPv4, former, pod("::ffff:192.0.2.2"),
			ptr.To(endpoint("192.0.2.2", "a-1", "second", "east", zone))},
		"an IPv4-mapped address is none of IPv6":      {discoveryv1.AddressTypeIPv6, former, pod("::ffff:192.0.2.2"), &discoveryv1.Endpoint{}},
		"no address of the family":                    {discoveryv1.AddressTypeIPv6, former, pod("192.0.2.2"), &discoveryv1.Endpoint{}},
		"no address of the family, and no pod before": {discoveryv1.AddressTypeIPv6, nil, pod("192.0.2.2"), nil},
		"this pod":             {discoveryv1.AddressTypeIPv4, present, both, nil},
		"names, not addresses": {discoveryv1.AddressTypeFQDN, former, both, nil},
	} {
		t.Run(name, func(t *testing.T) {
			ports := []discoveryv1.EndpointPort{{Name: ptr.To("redis"), Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To[int32](6379)}}
			foreign := []discoveryv1.EndpointPort{ports[0], {Name: ptr.To("metrics"), Port: ptr.To[int32](9121)}}
			foreign[0].AppProtocol = ptr.To("redis")
			for _, have := range [][]discoveryv1.EndpointPort{nil, foreign} { // what others add stays
				slice := &discoveryv1.EndpointSlice{AddressType: at.family, Endpoints: at.before, Ports: have}
				slice.Annotations = map[string]string{corev1.EndpointsLastChangeTriggerTime: "2026-11-27T12:00:00Z"}
				want := slice.DeepCopy()
				switch {
				case at.want == nil:
				case len(at.want.Addresses) == 0:
					want.Annotations, want.Endpoints, want.Ports = nil, nil, nil
				default:
					want.Annotations, want.Endpoints = nil, []discoveryv1.Endpoint{*at.want}
					if have == nil {
						want.Ports = ports
					}
				}
				if changed := LeadTo(slice, at.pod); changed != (at.want != nil) {
					t.Errorf("changed: %t", changed)
				}
				if !equality.Semantic.DeepEqual(slice, want) {
					t.Errorf("got %v\nnot %v", slice, want)
				}
				if at.want != nil && slice.Endpoints == nil { // a patch would have null
					t.Error("there is no list of endpoints")
				}
			}
		})
	}
}
