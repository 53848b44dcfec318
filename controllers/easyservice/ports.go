package easyservice

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
)

// socket is what makes a port unique in a Service and in a container.
type socket struct {
	number   int32
	protocol corev1.Protocol
}

func protocolOf(p appv1.Port) corev1.Protocol { return cmp.Or(p.Protocol, corev1.ProtocolTCP) }

// targetName is the name that targetPort gives to the container's port, if any.
func targetName(p appv1.Port) string {
	if p.TargetPort != nil && p.TargetPort.Type == intstr.String {
		return p.TargetPort.StrVal
	}
	return ""
}

// targetNumber is the number that the container listens on.
func targetNumber(p appv1.Port) int32 {
	if p.TargetPort != nil && p.TargetPort.Type == intstr.Int {
		return p.TargetPort.IntVal
	}
	return p.Port
}

// socketsOf returns the sockets behind the ports, each once, although several ports may lead to one.
func socketsOf(ports []appv1.Port) []socket {
	list, seen := []socket{}, map[socket]bool{}
	for _, p := range ports {
		if at := targetSocket(p); !seen[at] {
			seen[at], list = true, append(list, at)
		}
	}
	return list
}

func targetSocket(p appv1.Port) socket { return socket{targetNumber(p), protocolOf(p)} }

// socketNames returns the names of the sockets that can have one. A name from a targetPort goes before the name of a
// port: the user may refer to it elsewhere.
func socketNames(ports []appv1.Port) map[socket]string {
	named, taken := map[socket]string{}, map[string]bool{}
	for _, name := range []func(appv1.Port) string{targetName, func(p appv1.Port) string { return p.Name }} {
		for _, p := range ports {
			at := targetSocket(p)
			if n := name(p); n != "" && named[at] == "" && !taken[n] {
				named[at], taken[n] = n, true
			}
		}
	}
	return named
}

func containerPorts(ports []appv1.Port) []*corev1ac.ContainerPortApplyConfiguration {
	list, named := []*corev1ac.ContainerPortApplyConfiguration{}, socketNames(ports)
	for _, at := range socketsOf(ports) {
		port := corev1ac.ContainerPort().WithContainerPort(at.number).WithProtocol(at.protocol)
		if named[at] != "" {
			port.WithName(named[at])
		}
		list = append(list, port)
	}
	return list
}

// servicePorts returns the ports of the Service. existing are those that it has now, and all is what the pods listen
// on.
func servicePorts(ports []appv1.Port, exposed corev1.ServiceType, existing []corev1.ServicePort,
	all []listener) []*corev1ac.ServicePortApplyConfiguration {
	asked := nodePorts(ports, exposed, existing)
	list := make([]*corev1ac.ServicePortApplyConfiguration, 0, len(ports))
	for _, p := range ports {
		port := corev1ac.ServicePort().
			WithPort(p.Port).
			WithProtocol(protocolOf(p)).
			WithTargetPort(targetPort(ports, p, all))
		if p.Name != "" {
			port.WithName(p.Name)
		}
		port.NodePort, port.AppProtocol = asked[socket{p.Port, protocolOf(p)}], p.AppProtocol
		list = append(list, port)
	}
	return list
}

// nodePorts returns the node port that each port asks for:
//
//  1. the user's number;
//  2. the number that it has now, where the API server would lose it;
//  3. nil: the server keeps a number or chooses one; 0: the server takes the number back, which it would not do by itself.
//
// A port is the same while its number and protocol stay, else while its name stays. Where number, protocol and name all stay, the server
// keeps the node port, unless two protocols share it: the server thinks that the other protocol's port uses it, and gives a new one
// as soon as we no longer ask for it.
func nodePorts(ports []appv1.Port, exposed corev1.ServiceType, existing []corev1.ServicePort) map[socket]*int32 {
	bySocket, byName, holders := map[socket]corev1.ServicePort{}, map[string]corev1.ServicePort{}, map[int32]int{}
	for _, h := range existing {
		holders[h.NodePort]++
		bySocket[socket{h.Port, h.Protocol}], byName[h.Name] = h, h
	}
	asked := map[socket]*int32{}
	// taken has the node ports that a port asks for, or keeps.
	taken := map[socket]bool{}
	for _, p := range ports { // first: what the user chose, no other port may keep
		at := socket{p.Port, protocolOf(p)}
		if exposed == corev1.ServiceTypeClusterIP {
			asked[at] = ptr.To[int32](0)
		} else if p.NodePort != 0 {
			asked[at], taken[socket{p.NodePort, at.protocol}] = &p.NodePort, true
		}
	}
	for _, p := range ports { // then the same number, since the server goes by it too
		at := socket{p.Port, protocolOf(p)}
		same, there := bySocket[at]
		nodeSocket := socket{same.NodePort, at.protocol}
		switch {
		case !there || asked[at] != nil:
		case taken[nodeSocket]:
			asked[at] = ptr.To[int32](0)
		case same.Name != p.Name, same.NodePort != 0 && holders[same.NodePort] > 1:
			asked[at], taken[nodeSocket] = &same.NodePort, true
		default:
			taken[nodeSocket] = true
		}
	}
	for _, p := range ports { // last the same name
		at := socket{p.Port, protocolOf(p)}
		_, there := bySocket[at]
		same, known := byName[p.Name]
		nodeSocket := socket{same.NodePort, at.protocol}
		if known && !there && asked[at] == nil && !taken[nodeSocket] {
			asked[at], taken[nodeSocket] = &same.NodePort, true
		}
	}
	return asked
}

// portFor is the TCP port of that number, or the first TCP port.
func portFor(ports []appv1.Port, number int32) appv1.Port {
	for _, p := range ports {
		if p.Port == number && protocolOf(p) == corev1.ProtocolTCP {
			return p
		}
	}
	return firstTCP(ports)
}

// firstTCP is the first TCP port; empty when there is none. Admission refuses objects that need one and have none.
func firstTCP(ports []appv1.Port) appv1.Port {
	for _, p := range ports {
		if protocolOf(p) == corev1.ProtocolTCP {
			return p
		}
	}
	return appv1.Port{}
}
