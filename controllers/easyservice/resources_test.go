package easyservice

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

var update = flag.Bool("update", false, "write what is made into testdata")

// newEasyService is an EasyService as the API server would return it.
func newEasyService(name string, spec appv1.EasyServiceSpec) *appv1.EasyService {
	return &appv1.EasyService{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Spec: spec}
}

// TestDesired compares all children with testdata: a difference in a pod template
// that no user asked for would roll every pod at an upgrade of the operator.
func TestDesired(t *testing.T) {
	for _, e := range []*appv1.EasyService{
		newEasyService("least", appv1.EasyServiceSpec{Image: "example.org/app:1"}),
		newEasyService("web", appv1.EasyServiceSpec{
			Size: ptr.To[int32](2), Image: "docker.io/library/nginx:1.26",
			Ports: []appv1.Port{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}},
		}),
		newEasyService("udp", appv1.EasyServiceSpec{
			Image: "example.org/dns:1", Ports: []appv1.Port{{Port: 53, Protocol: corev1.ProtocolUDP}},
			Service:  appv1.Exposure{Type: corev1.ServiceTypeClusterIP, Headless: true},
			Strategy: &appv1.Strategy{DrainSeconds: ptr.To[int64](0)},
		}),
		newEasyService("full", fullSpec()),
	} {
		t.Run(e.Name, func(t *testing.T) {
			var text strings.Builder
			for _, child := range desired(e, template(e, ""), world{}) {
				encoded, err := yaml.Marshal(child)
				if err != nil {
					t.Fatal(err)
				}
				text.WriteString("---\n" + string(encoded))
			}
			file := filepath.Join("testdata", e.Name+".yaml")
			if *update {
				if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if text.String() != string(want) {
				t.Errorf("the children differ from %s (go test -update writes it again):\n%s", file, text.String())
			}
		})
	}
}

// fullSpec sets every field that changes a child.
func fullSpec() appv1.EasyServiceSpec {
	return appv1.EasyServiceSpec{
		Size:  ptr.To[int32](5),
		Image: "localhost:5000/app@sha256:" + strings.Repeat("0", 64),
		EnvFrom: []corev1.EnvFromSource{{Prefix: "P_",
			SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "keys"}}}},
		Volumes:            []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
		VolumeMounts:       []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
		ServiceAccountName: "reader",
		Ingress: &appv1.Ingress{ClassName: ptr.To("nginx"), Host: "a.example.org", Path: "/api", TLSSecret: "cert",
			Annotations: map[string]string{"i": "j"}},
		Command: []string{"serve"}, Args: []string{"--now"}, WorkingDir: "/srv",
		Envs: []corev1.EnvVar{
			{Name: "A", Value: "1"},
			{Name: "POD", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
		},
		Ports: []appv1.Port{
			{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP, TargetPort: ptr.To(intstr.FromString("domain"))},
			{Name: "http", Port: 8080, TargetPort: ptr.To(intstr.FromInt32(80)), AppProtocol: ptr.To("http")},
			{Name: "again", Port: 8081, TargetPort: ptr.To(intstr.FromInt32(80)), NodePort: 30777},
		},
		Service: appv1.Exposure{
			Type: corev1.ServiceTypeLoadBalancer, Annotations: map[string]string{"x": "y"},
			ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal,
			SessionAffinity:       corev1.ServiceAffinityClientIP,
			LoadBalancerClass:     ptr.To("example.org/lb"),
		},
		Probes: &appv1.Probes{
			Readiness: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromString("http")}}},
			Liveness:  &corev1.Probe{PeriodSeconds: 30},
			Startup:   &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"check"}}}},
		},
		Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}},
		Strategy: &appv1.Strategy{
			MaxSurge: ptr.To(intstr.FromString("50%")), MaxUnavailable: ptr.To(intstr.FromInt32(0)),
			MinReadySeconds: 3, ProgressDeadlineSeconds: ptr.To[int32](60), RevisionHistoryLimit: ptr.To[int32](0),
		},
		Security:   commonv1.SecurityRestricted,
		Disruption: &commonv1.Disruption{MaxUnavailable: ptr.To(intstr.FromString("40%"))},
		PodOptions: commonv1.PodOptions{
			ImagePullPolicy:               corev1.PullAlways,
			PodLabels:                     map[string]string{"team": "a", "app.kubernetes.io/name": "theirs"},
			PodAnnotations:                map[string]string{"note": "b"},
			TerminationGracePeriodSeconds: ptr.To[int64](7),
		},
	}
}

func TestBudgetFromSizeTwoOn(t *testing.T) {
	for size, want := range map[int32]int{0: 1, 1: 1, 2: 2} {
		e := newEasyService("a", appv1.EasyServiceSpec{Size: &size, Image: "a"})
		if got := len(desired(e, template(e, ""), world{})); got != want {
			t.Errorf("size %d makes %d children, not %d", size, got, want)
		}
	}
}

func TestDrain(t *testing.T) {
	port := []appv1.Port{{Port: 80}}
	for reason, c := range map[string]struct {
		spec appv1.EasyServiceSpec
		want int64
	}{
		"no client is led to it": {appv1.EasyServiceSpec{}, 0},
		"the default":            {appv1.EasyServiceSpec{Ports: port}, 5},
		"half of a short grace": {appv1.EasyServiceSpec{Ports: port,
			PodOptions: commonv1.PodOptions{TerminationGracePeriodSeconds: ptr.To[int64](7)}}, 3},
		"no grace": {appv1.EasyServiceSpec{Ports: port,
			PodOptions: commonv1.PodOptions{TerminationGracePeriodSeconds: ptr.To[int64](0)}}, 0},
		"as long as the spec says": {appv1.EasyServiceSpec{Ports: port,
			Strategy: &appv1.Strategy{DrainSeconds: ptr.To[int64](20)}}, 20},
		"the spec says not to": {appv1.EasyServiceSpec{Ports: port,
			Strategy: &appv1.Strategy{DrainSeconds: ptr.To[int64](0)}}, 0},
		"the spec says so, and no client is led to it": {appv1.EasyServiceSpec{Strategy: &appv1.Strategy{DrainSeconds: ptr.To[int64](3)}}, 3},
		"the default, of other wishes":                 {appv1.EasyServiceSpec{Ports: port, Strategy: &appv1.Strategy{MinReadySeconds: 1}}, 5},
	} {
		e := newEasyService("a", c.spec)
		if got := drainSeconds(e); got != c.want {
			t.Errorf("%s: %d, not %d", reason, got, c.want)
		}
		if has := template(e, "").Spec.Containers[0].Lifecycle != nil; has != (c.want > 0) {
			t.Errorf("%s: a lifecycle: %t", reason, has)
		}
	}
}

func TestTheUsersTmpIsNotOurs(t *testing.T) {
	e := newEasyService("a", appv1.EasyServiceSpec{
		Security:     commonv1.SecurityRestricted,
		Volumes:      []corev1.Volume{{Name: "tmp"}},
		VolumeMounts: []corev1.VolumeMount{{Name: "tmp", MountPath: "/tmp"}},
	})
	if pod := template(e, "").Spec; len(pod.Volumes) != 1 || len(pod.Containers[0].VolumeMounts) != 1 {
		t.Errorf("%d volumes", len(pod.Volumes))
	}
}
