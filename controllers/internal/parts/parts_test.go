package parts

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	"k8s.io/utils/ptr"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

func TestTemplateSaysNothingOfWhatTheUserDidNot(t *testing.T) {
	text := encode(t, PodTemplate("memcached", "a", commonv1.PodOptions{}))
	for _, silent := range []string{
		"annotations", "nodeSelector", "tolerations", "affinity", "imagePullSecrets", "priorityClassName", "terminationGracePeriodSeconds",
	} {
		if strings.Contains(text, silent) {
			t.Errorf("%s in %s", silent, text)
		}
	}
	for _, said := range []string{
		`"automountServiceAccountToken":false`, `"topologyKey":"kubernetes.io/hostname"`,
		`"topologyKey":"topology.kubernetes.io/zone"`, `"whenUnsatisfiable":"ScheduleAnyway"`,
	} {
		if !strings.Contains(text, said) {
			t.Errorf("no %s in %s", said, text)
		}
	}
}

func TestTemplateCarriesEveryOption(t *testing.T) {
	template := PodTemplate("memcached", "a", commonv1.PodOptions{
		ImagePullSecrets:              []corev1.LocalObjectReference{{Name: "s"}},
		PodLabels:                     map[string]string{"team": "x", LabelInstance: "stolen"},
		PodAnnotations:                map[string]string{"note": "y"},
		TerminationGracePeriodSeconds: ptr.To[int64](0),
		Scheduling: commonv1.Scheduling{
			NodeSelector:              map[string]string{"disk": "fast"},
			Tolerations:               []corev1.Toleration{{Key: "k", TolerationSeconds: ptr.To[int64](0)}},
			Affinity:                  &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}},
			TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{MaxSkew: 2, TopologyKey: "rack", WhenUnsatisfiable: corev1.DoNotSchedule}},
			PriorityClassName:         "high",
		},
	})
	if template.Labels[LabelInstance] != "a" || template.Labels["team"] != "x" {
		t.Errorf("our labels win and theirs stay: %v", template.Labels)
	}
	text := encode(t, template)
	for _, said := range []string{
		`"imagePullSecrets":[{"name":"s"}]`, `"note":"y"`, `"terminationGracePeriodSeconds":0`, `"disk":"fast"`,
		`"tolerations":[{"key":"k","tolerationSeconds":0}]`, `"nodeAffinity":{}`, `"topologyKey":"rack"`, `"priorityClassName":"high"`,
	} {
		if !strings.Contains(text, said) {
			t.Errorf("no %s in %s", said, text)
		}
	}
	if strings.Contains(text, "kubernetes.io/hostname") {
		t.Error("the user's spread replaces ours")
	}
}

func TestBuildersGiveTheSameBytes(t *testing.T) {
	options := commonv1.PodOptions{PodLabels: map[string]string{"c": "1", "a": "2", "b": "3"}}
	first := encode(t, PodTemplate("memcached", "a", options))
	for range 20 {
		if again := encode(t, PodTemplate("memcached", "a", options)); again != first {
			t.Fatalf("%s, then %s", first, again)
		}
	}
}

func TestSelectorsBearNoVersion(t *testing.T) {
	if got := SelectorString("memcached", "a"); got != "app.kubernetes.io/instance=a,app.kubernetes.io/name=memcached" {
		t.Error(got)
	}
	if got := encode(t, LabelSelector("memcached",
		"a")); got != `{"matchLabels":{"app.kubernetes.io/instance":"a","app.kubernetes.io/name":"memcached"}}` {
		t.Error(got)
	}
}

func TestMergeLeavesItsArgumentsAlone(t *testing.T) {
	theirs, ours := map[string]string{"a": "1", "b": "1"}, map[string]string{"b": "2"}
	if merged := Merge(theirs, ours); merged["a"] != "1" || merged["b"] != "2" {
		t.Error(merged)
	}
	if len(theirs) != 2 || theirs["b"] != "1" || len(ours) != 1 {
		t.Error(theirs, ours)
	}
}

func TestDisruptionBudget(t *testing.T) {
	for _, c := range []struct {
		reason string
		chosen *commonv1.Disruption
		most   intstr.IntOrString
	}{
		{"by default one at a time", nil, intstr.FromInt32(1)},
		{"nothing chosen", &commonv1.Disruption{}, intstr.FromInt32(1)},
		{"none at all", &commonv1.Disruption{MaxUnavailable: ptr.To(intstr.FromInt32(0))}, intstr.FromInt32(0)},
		{"a share", &commonv1.Disruption{MaxUnavailable: ptr.To(intstr.FromString("50%"))}, intstr.FromString("50%")},
	} {
		t.Run(c.reason, func(t *testing.T) {
			budget := DisruptionBudget("memcached", "a", c.chosen, policyv1.AlwaysAllow)
			if *budget.Spec.MaxUnavailable != c.most || *budget.Spec.UnhealthyPodEvictionPolicy != policyv1.AlwaysAllow {
				t.Errorf("got %v", encode(t, budget))
			}
		})
	}
}

func TestRestrictedPodsMeetTheStandard(t *testing.T) {
	pod, container := encode(t, RestrictedPod(7)), encode(t, RestrictedContainer())
	for _, said := range []string{`"runAsNonRoot":true`, `"runAsUser":7`, `"fsGroup":7`, `"seccompProfile":{"type":"RuntimeDefault"}`} {
		if !strings.Contains(pod, said) {
			t.Errorf("no %s in %s", said, pod)
		}
	}
	for _, said := range []string{`"allowPrivilegeEscalation":false`, `"drop":["ALL"]`, `"readOnlyRootFilesystem":true`} {
		if !strings.Contains(container, said) {
			t.Errorf("no %s in %s", said, container)
		}
	}
	if baseline := encode(t, BaselineContainer()); strings.Contains(baseline, "capabilities") {
		t.Error("Baseline leaves the image's capabilities", baseline)
	}
}

func TestRunningImage(t *testing.T) {
	containers := []corev1.Container{{Name: "side", Image: "s:1"}, {Name: "memcached", Image: "m:1"}}
	if got := RunningImage(containers, "memcached", "m:2"); got != "m:1" {
		t.Error(got)
	}
	if got := RunningImage(nil, "memcached", "m:2"); got != "m:2" {
		t.Error(got)
	}
}

func TestPreStopSleep(t *testing.T) {
	for _, c := range []struct {
		reason string
		grace  *int64
		want   string
	}{
		{"by default", nil, `"preStop":{"sleep":{"seconds":5}}`},
		{"a long grace", ptr.To[int64](3600), `"seconds":5`},
		{"half of a short grace", ptr.To[int64](7), `"seconds":3`},
		{"no grace", ptr.To[int64](0), `{"name":"a"}`},
		{"next to none", ptr.To[int64](1), `{"name":"a"}`},
	} {
		got := encode(t, WithPreStopSleep(corev1ac.Container().WithName("a"),
			PreStopSeconds(commonv1.PodOptions{TerminationGracePeriodSeconds: c.grace})))
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s", c.reason, got)
		}
	}
}

func TestToApplyConfigRefusesTypesThatDoNotMatch(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a wrong pair of types passes unseen")
		}
	}()
	ToApplyConfig[corev1ac.ContainerApplyConfiguration]([]string{"no container"})
}

func encode(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestNetworkPolicyLetsTheNamespaceInUnlessOthersAreChosen(t *testing.T) {
	ports := []networkingv1.NetworkPolicyPort{{Port: ptr.To(intstr.FromString("http"))}}
	text := encode(t, NetworkPolicy("easyservice", "a", &commonv1.NetworkPolicy{}, ports))
	for _, said := range []string{`"from":[{"podSelector":{}}]`, `"ports":[{"port":"http"}]`, `"policyTypes":["Ingress"]`,
		`"app.kubernetes.io/instance":"a"`} {
		if !strings.Contains(text, said) {
			t.Errorf("no %s in %s", said, text)
		}
	}
	if text := encode(t, NetworkPolicy("easyservice", "a", &commonv1.NetworkPolicy{}, nil)); strings.Contains(text, "ingress") {
		t.Error("without ports no peer is admitted: ", text)
	}
	chosen := &commonv1.NetworkPolicy{From: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/8"}}}}
	needed := networkingv1ac.NetworkPolicyPeer().WithNamespaceSelector(metav1ac.LabelSelector())
	if text := encode(t, NetworkPolicy("redis", "a", chosen, ports, needed)); !strings.Contains(text,
		`"from":[{"ipBlock":{"cidr":"10.0.0.0/8"}},{"namespaceSelector":{}}]`) {
		t.Error(text)
	}
}

func TestServiceMonitorFindsTheService(t *testing.T) {
	monitor := ServiceMonitor("redis", "a", &commonv1.ServiceMonitor{Labels: map[string]string{"release": "p", LabelInstance: "stolen"},
		Interval: "30s"}, "metrics", "/metrics")
	text := encode(t, monitor)
	for _, said := range []string{
		`"apiVersion":"monitoring.coreos.com/v1"`, `"kind":"ServiceMonitor"`, `"name":"a"`, `"release":"p"`, `"app.kubernetes.io/instance":"a"`,
		`"endpoints":[{"interval":"30s","path":"/metrics","port":"metrics"}]`,
		`"matchLabels":{"app.kubernetes.io/instance":"a","app.kubernetes.io/name":"redis"}`,
	} {
		if !strings.Contains(text, said) {
			t.Errorf("no %s in %s", said, text)
		}
	}
	if strings.Contains(text, "stolen") || strings.Contains(text, "serviceMonitor") {
		t.Error(text)
	}
}
