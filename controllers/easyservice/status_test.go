package easyservice

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

// deployed is a Deployment of 4 pods, of which so many are ready, observed by its controller.
func deployed(ready int32, change ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{}
	d.Generation, d.Status.ObservedGeneration = 3, 3
	d.Spec.Replicas = ptr.To[int32](4)
	d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxUnavailable: ptr.To(intstr.FromString("25%"))}
	d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.ReadyReplicas, d.Status.AvailableReplicas = 4, 4, ready, ready
	for _, c := range change {
		c(d)
	}
	return d
}

func withCondition(conditionType appsv1.DeploymentConditionType, status corev1.ConditionStatus,
	reason, message string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Status.Conditions = append(d.Status.Conditions,
			appsv1.DeploymentCondition{Type: conditionType, Status: status, Reason: reason, Message: message, LastUpdateTime: secondsLater(1)})
	}
}

func TestConditions(t *testing.T) {
	unpullable := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a-1"}, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		Name: appName, Image: "nowhere/a:1", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull",
			Message: "connection refused"}},
	}}}}
	deaf := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a-1"}}
	deaf.Spec.Containers = []corev1.Container{{Name: appName, ReadinessProbe: &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(8080)}},
	}}}
	deaf.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: appName,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	for reason, c := range map[string]struct {
		deployment *appsv1.Deployment
		pods       []corev1.Pod
		want       string // Ready, Available, Progressing, Degraded
		degraded   string
	}{
		"all ready":                       {deployment: deployed(4), want: "TTFF"},
		"one away, as a rollout may have": {deployment: deployed(3), want: "FTTF"},
		"two away":                        {deployment: deployed(2), want: "FFTF"},
		"no Deployment yet":               {want: "FFTF"},
		"the controller has not looked yet": {
			deployment: deployed(4, func(d *appsv1.Deployment) { d.Generation++ }), want: "FTTF",
		},
		"an image that cannot be pulled": {
			deployment: deployed(3), pods: []corev1.Pod{unpullable}, want: "FTTT",
			degraded: `pod a-1: container easyservice: image "nowhere/a:1" cannot be pulled: connection refused`,
		},
		"a quota": {
			deployment: deployed(0, withCondition(appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, "FailedCreate", "exceeded quota")),
			want:       "FFTT", degraded: "pods cannot be created: exceeded quota. Raise the ResourceQuota, or ask for less in spec.resources",
		},
		"beyond its deadline": {
			deployment: deployed(1, withCondition(appsv1.DeploymentProgressing, corev1.ConditionFalse, reasonDeadlineExceeded, "")),
			want:       "FFFT", degraded: "1 of 4 replicas ready",
		},
		"beyond its deadline, and nothing listens": {
			deployment: deployed(1, withCondition(appsv1.DeploymentProgressing, corev1.ConditionFalse, reasonDeadlineExceeded, "")),
			pods:       []corev1.Pod{deaf}, want: "FFFT",
			degraded: "1 of 4 replicas ready: pod a-1: container easyservice runs, but its readiness probe (TCP port 8080) does not succeed",
		},
		"a deadline of the last generation": {
			deployment: deployed(1, withCondition(appsv1.DeploymentProgressing, corev1.ConditionFalse, reasonDeadlineExceeded, ""),
				func(d *appsv1.Deployment) { d.Generation++ }),
			want: "FFTF",
		},
	} {
		t.Run(reason, func(t *testing.T) {
			observed := converge.Observed{}
			if c.deployment != nil {
				observed["Deployment/a"] = c.deployment
			}
			e := newEasyService("a", appv1.EasyServiceSpec{Size: ptr.To[int32](4)})
			e.Status.LastRollout = &appv1.Rollout{StartTime: testTime, Result: appv1.RolloutRunning}
			got := status(e, observed, world{pods: c.pods, now: secondsLater(2)}, rolloutRequest{deploymentApplied: true})
			letters := ""
			for _, kind := range []string{commonv1.ConditionReady, commonv1.ConditionAvailable, commonv1.ConditionProgressing,
				commonv1.ConditionDegraded} {
				letters += string(meta.FindStatusCondition(got.Conditions, kind).Status[0])
			}
			if letters != c.want {
				t.Errorf("got %s, want %s: %v", letters, c.want, got.Conditions)
			}
			if words := meta.FindStatusCondition(got.Conditions, commonv1.ConditionDegraded).Message; c.degraded != "" && words != c.degraded {
				t.Errorf("Degraded says %q", words)
			}
			if got.Endpoints == nil {
				t.Error("endpoints is nil, which the schema refuses")
			}
		})
	}
}

func TestEndpoints(t *testing.T) {
	pod := func(host string, ready corev1.ConditionStatus) corev1.Pod {
		return corev1.Pod{Status: corev1.PodStatus{HostIP: host, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}}}
	}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{
			{Name: "https-admin", Port: 443, Protocol: corev1.ProtocolTCP, NodePort: 30002},
			{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP, NodePort: 30001},
			{Name: "api", Port: 80, Protocol: corev1.ProtocolTCP, AppProtocol: ptr.To("http")},
		}},
		Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "2001:db8::1"}}}},
	}
	pods := []corev1.Pod{pod("10.0.0.1", corev1.ConditionFalse), pod("10.0.0.3", corev1.ConditionTrue), pod("10.0.0.2", corev1.ConditionTrue)}
	want := []appv1.Endpoint{
		{Name: "api", Type: "ClusterIP", URL: "http://web.shop.svc:80"},
		{Name: "api", Type: "LoadBalancer", URL: "http://[2001:db8::1]:80"},
		{Name: "dns", Type: "ClusterIP", URL: "udp://web.shop.svc:53"},
		{Name: "dns", Type: "LoadBalancer", URL: "udp://[2001:db8::1]:53"},
		{Name: "dns", Type: "NodePort", URL: "udp://10.0.0.2:30001"},
		{Name: "https-admin", Type: "ClusterIP", URL: "https://web.shop.svc:443"},
		{Name: "https-admin", Type: "LoadBalancer", URL: "https://[2001:db8::1]:443"},
		{Name: "https-admin", Type: "NodePort", URL: "https://10.0.0.2:30002"},
	}
	if got := endpoints(service, nil, pods); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	service.Spec.Ports = []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP, NodePort: 30001}}
	service.Status = corev1.ServiceStatus{}
	if got := endpoints(service, nil, nil); !slices.Equal(got,
		[]appv1.Endpoint{{Name: "80", Type: "ClusterIP", URL: "tcp://web.shop.svc:80"}}) {
		t.Errorf("without a ready pod no node is known to answer, got %v", got)
	}
}
