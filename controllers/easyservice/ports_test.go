package easyservice

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
)

func TestNodePorts(t *testing.T) {
	const tcp, udp, nodePort = corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ServiceTypeNodePort
	zero := ptr.To[int32](0)
	for reason, c := range map[string]struct {
		ports   []appv1.Port
		exposed corev1.ServiceType
		held    []corev1.ServicePort
		want    map[socket]*int32
	}{
		"the cluster chooses where nothing is held": {
			[]appv1.Port{{Name: "a", Port: 80}}, nodePort, nil, map[socket]*int32{},
		},
		"the user's choice goes first": {
			[]appv1.Port{{Name: "a", Port: 80, NodePort: 30002}}, nodePort,
			[]corev1.ServicePort{{Name: "a", Port: 80, Protocol: tcp, NodePort: 30001}},
			map[socket]*int32{{80, tcp}: ptr.To[int32](30002)},
		},
		"the server keeps what stays the same": {
			[]appv1.Port{{Name: "a", Port: 80}}, nodePort,
			[]corev1.ServicePort{{Name: "a", Port: 80, Protocol: tcp, NodePort: 30001}}, map[socket]*int32{},
		},
		"a new name keeps it": {
			[]appv1.Port{{Name: "b", Port: 80}}, nodePort,
			[]corev1.ServicePort{{Name: "a", Port: 80, Protocol: tcp, NodePort: 30001}},
			map[socket]*int32{{80, tcp}: ptr.To[int32](30001)},
		},
		"a new number keeps it": {
			[]appv1.Port{{Name: "a", Port: 81}}, nodePort,
			[]corev1.ServicePort{{Name: "a", Port: 80, Protocol: tcp, NodePort: 30001}},
			map[socket]*int32{{81, tcp}: ptr.To[int32](30001)},
		},
		"a new number without a name keeps it": {
			[]appv1.Port{{Port: 81}}, nodePort,
			[]corev1.ServicePort{{Port: 80, Protocol: tcp, NodePort: 30001}},
			map[socket]*int32{{81, tcp}: ptr.To[int32](30001)},
		},
		"both new is a new port": {
			[]appv1.Port{{Name: "b", Port: 81}}, nodePort,
			[]corev1.ServicePort{{Name: "a", Port: 80, Protocol: tcp, NodePort: 30001}}, map[socket]*int32{},
		},
		"the number goes before the name": {
			[]appv1.Port{{Name: "b", Port: 80}, {Name: "a", Port: 81}}, nodePort,
			[]corev1.ServicePort{{Name: "a", Port: 80, Protocol: tcp, NodePort: 30001}},
			map[socket]*int32{{80, tcp}: ptr.To[int32](30001)},
		},
		"names that change places": {
			[]appv1.Port{{Name: "b", Port: 80}, {Name: "a", Port: 81}}, nodePort,
			[]corev1.ServicePort{
				{Name: "a", Port: 80, Protocol: tcp, NodePort: 30001}, {Name: "b", Port: 81, Protocol: tcp, NodePort: 30002},
			},
			map[socket]*int32{{80, tcp}: ptr.To[int32](30001), {81, tcp}: ptr.To[int32](30002)},
		},
		"one given to another port is given up": {
			[]appv1.Port{{Name: "a", Port: 80}, {Name: "b", Port: 81, NodePort: 30001}}, nodePort,
			[]corev1.ServicePort{{Name: "a", Port: 80, Protocol: tcp, NodePort: 30001}},
			map[socket]*int32{{80, tcp}: zero, {81, tcp}: ptr.To[int32](30001)},
		},
		"one given to another protocol stays": {
			[]appv1.Port{{Name: "a", Port: 80}, {Name: "b", Port: 80, Protocol: udp, NodePort: 30001}}, nodePort,
			[]corev1.ServicePort{{Name: "a", Port: 80, Protocol: tcp, NodePort: 30001}},
			map[socket]*int32{{80, udp}: ptr.To[int32](30001)},
		},
		"one that two protocols share is asked for by both": {
			[]appv1.Port{{Name: "a", Port: 53}, {Name: "c", Port: 53, Protocol: udp}}, nodePort,
			[]corev1.ServicePort{
				{Name: "a", Port: 53, Protocol: tcp, NodePort: 30001}, {Name: "b", Port: 53, Protocol: udp, NodePort: 30001},
			},
			map[socket]*int32{{53, tcp}: ptr.To[int32](30001), {53, udp}: ptr.To[int32](30001)},
		},
		"a ClusterIP gives all up": {
			[]appv1.Port{{Name: "a", Port: 80}}, corev1.ServiceTypeClusterIP,
			[]corev1.ServicePort{{Name: "a", Port: 80, Protocol: tcp, NodePort: 30001}},
			map[socket]*int32{{80, tcp}: zero},
		},
	} {
		t.Run(reason, func(t *testing.T) {
			if got := nodePorts(c.ports, c.exposed, c.held); !maps.Equal(assignedPorts(got), assignedPorts(c.want)) {
				t.Errorf("got %v, want %v", assignedPorts(got), assignedPorts(c.want))
			}
		})
	}
}

func assignedPorts(asked map[socket]*int32) map[socket]int32 {
	numbers := map[socket]int32{}
	for at, number := range asked {
		if number != nil {
			numbers[at] = *number
		}
	}
	return numbers
}

func TestContainerPorts(t *testing.T) {
	name := func(n string) *intstr.IntOrString { return ptr.To(intstr.FromString(n)) }
	number := func(n int32) *intstr.IntOrString { return ptr.To(intstr.FromInt32(n)) }
	for reason, c := range map[string]struct {
		ports []appv1.Port
		want  []string
	}{
		"the port itself":        {[]appv1.Port{{Port: 80}}, []string{"80/TCP"}},
		"its name, too":          {[]appv1.Port{{Name: "http", Port: 80}}, []string{"http 80/TCP"}},
		"the number it leads to": {[]appv1.Port{{Name: "http", Port: 80, TargetPort: number(8080)}}, []string{"http 8080/TCP"}},
		"a name it leads to":     {[]appv1.Port{{Name: "http", Port: 80, TargetPort: name("web")}}, []string{"web 80/TCP"}},
		"two protocols on one number": {[]appv1.Port{{Name: "t", Port: 53}, {Name: "u", Port: 53, Protocol: corev1.ProtocolUDP}},
			[]string{"t 53/TCP", "u 53/UDP"}},
		"two ports that lead to one": {[]appv1.Port{{Name: "a", Port: 80, TargetPort: number(8080)},
			{Name: "b", Port: 81, TargetPort: number(8080)}}, []string{"a 8080/TCP"}},
		"a name that is needed wins": {[]appv1.Port{{Name: "a", Port: 80, TargetPort: number(8080)},
			{Name: "b", Port: 8080, TargetPort: name("web")}}, []string{"web 8080/TCP"}},
		"a name stands once": {[]appv1.Port{{Name: "web", Port: 80, TargetPort: number(8080)},
			{Name: "b", Port: 81, TargetPort: name("web")}}, []string{"8080/TCP", "web 81/TCP"}},
		"nothing for a portless service": {nil, nil},
	} {
		t.Run(reason, func(t *testing.T) {
			var got []string
			for _, p := range containerPorts(c.ports) {
				text := fmt.Sprintf("%d/%s", *p.ContainerPort, *p.Protocol)
				if p.Name != nil {
					text = *p.Name + " " + text
				}
				got = append(got, text)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
