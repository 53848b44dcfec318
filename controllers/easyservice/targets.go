package easyservice

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
)

// listener is what a pod, or the template of pods to come, says that it listens on.
type listener map[socket]string // to the socket's name, if any

// listeners returns all that clients may be led to, the pods to come first. A pod that is being deleted still serves;
// one that has ended does not.
func listeners(podTemplate *corev1ac.PodTemplateSpecApplyConfiguration, pods []corev1.Pod) []listener {
	coming := listener{}
	for _, c := range podTemplate.Spec.Containers {
		for _, p := range c.Ports {
			coming[socket{*p.ContainerPort, ptr.Deref(p.Protocol, corev1.ProtocolTCP)}] = ptr.Deref(p.Name, "")
		}
	}
	list := []listener{coming}
	for i := range pods {
		if phase := pods[i].Status.Phase; phase != corev1.PodFailed && phase != corev1.PodSucceeded {
			list = append(list, listenerOf(pods[i].Spec.Containers))
		}
	}
	return list
}

// listenerOf is what our own container listens on: clients are not led to injected ones. It leaves out a name that a
// container injected before ours has, too: that name leads there.
func listenerOf(containers []corev1.Container) listener {
	l, taken := listener{}, map[corev1.ContainerPort]bool{}
	for _, c := range containers {
		for _, p := range c.Ports {
			named := corev1.ContainerPort{Name: p.Name, Protocol: p.Protocol}
			switch {
			case c.Name != appName:
				taken[named] = true
			case taken[named]:
				l[socket{p.ContainerPort, p.Protocol}] = ""
			default:
				l[socket{p.ContainerPort, p.Protocol}] = p.Name
			}
		}
	}
	return l
}

func (l listener) hasName(name string, protocol corev1.Protocol) bool {
	_, has := l.numberOf(name, protocol)
	return has
}

// numberOf returns the number of the socket with that name, if any.
func (l listener) numberOf(name string, protocol corev1.Protocol) (int32, bool) {
	for at, n := range l {
		if n == name && at.protocol == protocol {
			return at.number, true
		}
	}
	return 0, false
}

// targetPort is where a port of the Service leads. It is the socket's name, which each pod may have at a number of its
// own, so that one release can follow another, and be rolled back, while the number changes. It is the number where
// the name does not do: for a socket without a name, or one that some pods have under another. A pod that has neither
// gets no traffic.
func targetPort(ports []appv1.Port, p appv1.Port, all []listener) intstr.IntOrString {
	at := targetSocket(p)
	name := socketNames(ports)[at]
	nameless := func(l listener) bool { return name == "" || !l.hasName(name, at.protocol) }
	renamed := func(l listener) bool {
		_, there := l[at]
		return there && nameless(l)
	}
	if !slices.ContainsFunc(all, nameless) {
		return intstr.FromString(name)
	}
	var sockets []socket
	if len(ports) == 1 {
		sockets = otherSockets(nil, all)
	}
	switch {
	case len(sockets) == 1 && sockets[0].protocol == at.protocol: // what was rolled back may have another
		return intstr.FromInt32(sockets[0].number)
	case name == "" || slices.ContainsFunc(all, renamed):
		return intstr.FromInt32(at.number)
	}
	return intstr.FromString(name)
}

// otherSockets returns the sockets of all listeners except the known ones, sorted.
func otherSockets(known []socket, all []listener) []socket {
	var list []socket
	for _, l := range all {
		for at := range l {
			if !slices.Contains(known, at) && !slices.Contains(list, at) {
				list = append(list, at)
			}
		}
	}
	slices.SortFunc(list, func(a, b socket) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.protocol, b.protocol))
	})
	return list
}
