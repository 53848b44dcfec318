package easyservice

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	"k8s.io/utils/ptr"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// portsTo is a port 80 of the Service that leads to a port number of the containers.
func portsTo(name string, number int32) []appv1.Port {
	return []appv1.Port{{Name: name, Port: 80, TargetPort: ptr.To(intstr.FromInt32(number))}}
}

// podServing is a pod of a release with those ports.
func podServing(phase corev1.PodPhase, ports []appv1.Port) corev1.Pod {
	made := template(newEasyService("a", appv1.EasyServiceSpec{Ports: ports}), "")
	pod := corev1.Pod{Status: corev1.PodStatus{Phase: phase}}
	pod.Spec.Containers = []corev1.Container{{Name: "injected",
		Ports: []corev1.ContainerPort{{Name: "mesh", ContainerPort: 15090, Protocol: corev1.ProtocolTCP}}}, {Name: appName}}
	for _, p := range made.Spec.Containers[0].Ports {
		pod.Spec.Containers[1].Ports = append(pod.Spec.Containers[1].Ports, corev1.ContainerPort{
			Name: ptr.Deref(p.Name, ""), ContainerPort: *p.ContainerPort, Protocol: *p.Protocol,
		})
	}
	return pod
}

func TestTargets(t *testing.T) {
	const run, failed, done = corev1.PodRunning, corev1.PodFailed, corev1.PodSucceeded
	both := func(first, second string, number int32) []appv1.Port {
		return append(portsTo(first, number), appv1.Port{Name: second, Port: 9000})
	}
	dns := []appv1.Port{{Name: "t", Port: 53}, {Name: "u", Port: 53, Protocol: corev1.ProtocolUDP}}
	injected := podServing(run, portsTo("http", 8080))
	injected.Spec.Containers[0].Ports[0].Name = "http"
	after := podServing(run, portsTo("http", 8080))
	slices.Reverse(after.Spec.Containers)
	after.Spec.Containers[1].Ports[0].Name = "http"
	for _, c := range []struct {
		reason string
		asked  []appv1.Port
		given  []appv1.Port // where a release was rolled back
		pods   []corev1.Pod
		want   []string
		lets   []string // in, by the NetworkPolicy
	}{
		{reason: "no pod yet", asked: portsTo("http", 8080), want: []string{"http"}, lets: []string{"8080/TCP"}},
		{reason: "at rest", asked: portsTo("http", 8080), pods: []corev1.Pod{podServing(run, portsTo("http", 8080))}, want: []string{"http"},
			lets: []string{"8080/TCP"}},
		{reason: "a container injected before ours has the name", asked: portsTo("http", 8080), pods: []corev1.Pod{injected},
			want: []string{"8080"}, lets: []string{"8080/TCP"}},
		{reason: "one injected after it has it", asked: portsTo("http", 8080), pods: []corev1.Pod{after}, want: []string{"http"},
			lets: []string{"8080/TCP"}},
		{reason: "the number moves", asked: portsTo("http", 9090),
			pods: []corev1.Pod{podServing(run, portsTo("http", 8080)), podServing(run, portsTo("http", 9090))},
			want: []string{"http"}, lets: []string{"9090/TCP", "8080/TCP"}},
		{reason: "the number moved, and was rolled back", asked: portsTo("http", 9090), given: portsTo("http", 8080),
			pods: []corev1.Pod{podServing(run, portsTo("http", 8080))},
			want: []string{"http"}, lets: []string{"9090/TCP", "8080/TCP"}},
		{reason: "rolled back before any pod is there", asked: portsTo("http", 9090), given: portsTo("http", 8080),
			want: []string{"http"}, lets: []string{"9090/TCP", "8080/TCP"}},
		{reason: "the name changes", asked: portsTo("web", 8080),
			pods: []corev1.Pod{podServing(run, portsTo("http", 8080)), podServing(run, portsTo("web", 8080))},
			want: []string{"8080"}, lets: []string{"8080/TCP"}},
		{reason: "the name has changed", asked: portsTo("web", 8080), pods: []corev1.Pod{podServing(run, portsTo("web", 8080))},
			want: []string{"web"}, lets: []string{"8080/TCP"}},
		{reason: "the name has changed, but for pods that ended", asked: portsTo("web", 8080),
			pods: []corev1.Pod{podServing(run, portsTo("web", 8080)), podServing(failed, portsTo("http", 8080)),
				podServing(done, portsTo("http", 81))}, want: []string{"web"}, lets: []string{"8080/TCP"}},
		{reason: "the name changed, and was rolled back", asked: portsTo("web", 8080), given: portsTo("http", 8080), want: []string{"8080"},
			lets: []string{"8080/TCP"}},
		{reason: "one of two names changes", asked: both("web", "b", 8080), pods: []corev1.Pod{podServing(run, both("http", "b", 8080))},
			want: []string{"8080", "b"}, lets: []string{"8080/TCP", "9000/TCP"}},
		{reason: "a targetPort gets a name", asked: []appv1.Port{{Name: "http", Port: 80, TargetPort: ptr.To(intstr.FromString("web"))}},
			pods: []corev1.Pod{podServing(run, []appv1.Port{{Name: "http", Port: 80}})}, want: []string{"80"}, lets: []string{"80/TCP"}},
		{reason: "a port is new: who does not know it is not led to", asked: both("http", "b", 8080),
			pods: []corev1.Pod{podServing(run, portsTo("http", 8080))},
			want: []string{"http", "b"}, lets: []string{"8080/TCP", "9000/TCP"}},
		{reason: "name and number change: those that have neither are not led to", asked: portsTo("web", 9090),
			pods: []corev1.Pod{podServing(run, portsTo("http", 8080))},
			want: []string{"web"}, lets: []string{"9090/TCP", "8080/TCP"}},
		{reason: "name and number changed, and were rolled back", asked: portsTo("web", 9090), given: portsTo("http", 8080),
			pods: []corev1.Pod{podServing(run, portsTo("http", 8080))},
			want: []string{"8080"}, lets: []string{"9090/TCP", "8080/TCP"}},
		{reason: "no name", asked: portsTo("", 8080), pods: []corev1.Pod{podServing(run, portsTo("", 8080))}, want: []string{"8080"},
			lets: []string{"8080/TCP"}},
		{reason: "no name, and the number moves", asked: portsTo("", 9090), pods: []corev1.Pod{podServing(run, portsTo("", 8080))},
			want: []string{"9090"}, lets: []string{"9090/TCP", "8080/TCP"}},
		{reason: "no name, the number moved and was rolled back", asked: portsTo("", 9090), given: portsTo("", 8080),
			pods: []corev1.Pod{podServing(run, portsTo("", 8080))},
			want: []string{"8080"}, lets: []string{"9090/TCP", "8080/TCP"}},
		{reason: "no name any more", asked: portsTo("", 8080), pods: []corev1.Pod{podServing(run, portsTo("http", 8080))}, want: []string{"8080"},
			lets: []string{"8080/TCP"}},
		{reason: "two protocols on one number", asked: dns, pods: []corev1.Pod{podServing(run, dns)}, want: []string{"t", "u"},
			lets: []string{"53/TCP", "53/UDP"}},
		{reason: "two ports that lead to one", asked: append(portsTo("a", 8080), appv1.Port{Name: "b", Port: 8080}), want: []string{"a", "a"},
			lets: []string{"8080/TCP"}},
		{reason: "a name that another socket has taken",
			asked: append(portsTo("web", 8080), appv1.Port{Name: "b", Port: 81, TargetPort: ptr.To(intstr.FromString("web"))}),
			want:  []string{"8080", "web"}, lets: []string{"8080/TCP", "81/TCP"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			e := newEasyService("a", appv1.EasyServiceSpec{Ports: c.asked, NetworkPolicy: &commonv1.NetworkPolicy{}})
			given := template(e, "")
			if c.given != nil {
				given = template(newEasyService("a", appv1.EasyServiceSpec{Ports: c.given}), "")
			}
			var targets, lets []string
			for _, child := range desired(e, given, world{pods: c.pods}) {
				switch made := child.(type) {
				case *corev1ac.ServiceApplyConfiguration:
					for _, p := range made.Spec.Ports {
						targets = append(targets, p.TargetPort.String())
					}
				case *networkingv1ac.NetworkPolicyApplyConfiguration:
					for _, p := range made.Spec.Ingress[0].Ports {
						lets = append(lets, fmt.Sprintf("%s/%s", p.Port, *p.Protocol))
					}
				}
			}
			if !slices.Equal(targets, c.want) {
				t.Errorf("the Service leads to %q, not %q", targets, c.want)
			}
			if !slices.Equal(lets, c.lets) {
				t.Errorf("the NetworkPolicy lets in to %q, not %q", lets, c.lets)
			}
		})
	}
}

// The name of a headless Service leads to the pods' own port number.
func TestHeadlessEndpoints(t *testing.T) {
	service := &corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone}}
	service.Name, service.Namespace = "web", "shop"
	service.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromString("http")}}
	pod := podServing(corev1.PodRunning, portsTo("http", 8080))
	if got := endpoints(service, listenerOf(pod.Spec.Containers), nil); len(got) != 1 || got[0].URL != "http://web.shop.svc:8080" {
		t.Errorf("by name: %v", got)
	}
	service.Spec.Ports[0].TargetPort = intstr.FromInt32(8081)
	if got := endpoints(service, nil, nil); got[0].URL != "http://web.shop.svc:8081" {
		t.Errorf("by number: %v", got)
	}
}
