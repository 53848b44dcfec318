package integration

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

var _ = register(kind{
	name:            "EasyService",
	sampleFile:      "app_v1_easyservice.yaml",
	scaled:          true,
	level:           "baseline",
	maxStatusWrites: 6,
	sample:          func() client.Object { return fullEasyService() },
	edit: func(obj client.Object) {
		obj.(*appv1.EasyService).Spec = builders.EasyService("").Size(2).Ports(appv1.Port{Name: "http", Port: 8080}).Build().Spec
	},
	paused: func(obj client.Object, paused bool) { obj.(*appv1.EasyService).Spec.Paused = paused },
	prerequisite: func(namespace string) client.Object {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "settings"}, Data: map[string]string{"a": "1"}}
	},
	asks: "get configmaps settings",
})

// fullEasyService sets every optional field but paused and the nodePort that
// two of them could not share.
func fullEasyService() *appv1.EasyService {
	return builders.EasyService("full").Size(3).Image("localhost:5000/app@sha256:"+strings.Repeat("0", 64)).
		Envs(corev1.EnvVar{Name: "A", Value: "1"}, corev1.EnvVar{Name: "POD", ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"},
		}}).
		Ports(
			appv1.Port{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP, TargetPort: ptr.To(intstr.FromString("domain"))},
			appv1.Port{Name: "http", Port: 80, TargetPort: ptr.To(intstr.FromInt32(8080)), AppProtocol: ptr.To("http")},
		).
		With(func(s *appv1.EasyServiceSpec) {
			s.EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}}
			s.ConfigRefs = []appv1.ConfigRef{{Kind: appv1.ConfigMap, Name: "settings"}}
			s.Volumes = []corev1.Volume{{Name: "data",
				VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: ptr.To(resource.MustParse("0.5Gi"))}}}}
			s.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}, {Name: "data", MountPath: "/more", SubPath: "more"}}
			s.ServiceAccountName = "reader"
			s.Ingress = &appv1.Ingress{ClassName: ptr.To("example"), Host: "a.example.org", Path: "/api", PathType: "Exact", Port: 80,
				TLSSecret: "cert", Annotations: map[string]string{"i": "j"}}
			s.Command, s.Args, s.WorkingDir = []string{"serve"}, []string{"--now"}, "/srv"
			s.Service = appv1.Exposure{
				Type: corev1.ServiceTypeLoadBalancer, Annotations: map[string]string{"x": "y"},
				ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal,
				SessionAffinity:       corev1.ServiceAffinityClientIP, LoadBalancerClass: ptr.To("example.org/lb"),
			}
			s.Probes = &appv1.Probes{
				Readiness: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromString("http")}}},
				Liveness:  &corev1.Probe{PeriodSeconds: 30},
				Startup:   &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"check"}}}},
			}
			s.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("0.5Gi")}
			s.Strategy = &appv1.Strategy{
				MaxSurge: ptr.To(intstr.FromString("50%")), MaxUnavailable: ptr.To(intstr.FromInt32(0)),
				MinReadySeconds: 1, ProgressDeadlineSeconds: ptr.To[int32](60), RevisionHistoryLimit: ptr.To[int32](3), DrainSeconds: ptr.To[int64](2),
				OnFailure: appv1.Rollback,
			}
			s.Security = commonv1.SecurityRestricted
			s.NetworkPolicy = &commonv1.NetworkPolicy{From: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/8"}}}}
			s.Disruption = &commonv1.Disruption{MaxUnavailable: ptr.To(intstr.FromString("50%"))}
			s.PodOptions = builders.FullPodOptions()
		}).Build()
}

var _ = Describe("EasyService", func() {
	plain := func() *builders.EasyServiceBuilder { return builders.EasyService("a") }
	with := func(change func(*appv1.EasyServiceSpec)) client.Object { return plain().With(change).Build() }
	ports := func(p ...appv1.Port) client.Object { return plain().Ports(p...).Build() }
	leadingTo := func(target intstr.IntOrString) client.Object { return ports(appv1.Port{Port: 80, TargetPort: &target}) }
	exposed := func(e appv1.Exposure) client.Object {
		return with(func(s *appv1.EasyServiceSpec) { s.Service = e })
	}
	probes := func(p appv1.Probes) client.Object { return with(func(s *appv1.EasyServiceSpec) { s.Probes = &p }) }
	pace := func(p appv1.Strategy) client.Object { return with(func(s *appv1.EasyServiceSpec) { s.Strategy = &p }) }
	number, text := func(n int32) *intstr.IntOrString { return ptr.To(intstr.FromInt32(n)) },
		func(t string) *intstr.IntOrString { return ptr.To(intstr.FromString(t)) }
	envFrom := func(from ...corev1.EnvFromSource) client.Object {
		return with(func(s *appv1.EasyServiceSpec) { s.EnvFrom = from })
	}
	configRefs := func(refs ...appv1.ConfigRef) client.Object {
		return with(func(s *appv1.EasyServiceSpec) { s.ConfigRefs = refs })
	}
	volumes := func(list ...corev1.Volume) client.Object {
		return with(func(s *appv1.EasyServiceSpec) { s.Volumes = list })
	}
	ingress := func(chosen appv1.Ingress, ports ...appv1.Port) client.Object {
		return plain().Ports(ports...).With(func(s *appv1.EasyServiceSpec) { s.Ingress = &chosen }).Build()
	}
	podName := &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}

	DescribeTable("is refused", func(obj client.Object, field string) { reject(obj, field) },
		Entry("size below 0", plain().Size(-1).Build(), "spec.size"),
		Entry("size of a million", plain().Size(1_000_000).Build(), "spec.size"),
		Entry("size above the edge", plain().Size(1001).Build(), "spec.size"),
		Entry("no image", plain().Image("").Build(), "spec.image"),
		Entry("image with a space", plain().Image("nginx latest").Build(), "spec.image"),
		Entry("image too long", plain().Image(strings.Repeat("a", 513)).Build(), "spec.image"),
		Entry("a relative workingDir", with(func(s *appv1.EasyServiceSpec) { s.WorkingDir = "srv" }), "spec.workingDir"),
		Entry("the same env twice", plain().Envs(corev1.EnvVar{Name: "A"}, corev1.EnvVar{Name: "A", Value: "1"}).Build(), "spec.envs[1]"),
		Entry("an env without a name", plain().Envs(corev1.EnvVar{Value: "1"}).Build(), "spec.envs"),
		Entry("an env with two values", plain().Envs(corev1.EnvVar{Name: "A", Value: "1", ValueFrom: podName}).Build(), "spec.envs"),
		Entry("port 0", ports(appv1.Port{Port: 0}), "spec.ports[0].port"),
		Entry("port 70000", ports(appv1.Port{Port: 70_000}), "spec.ports[0].port"),
		Entry("two unnamed ports", ports(appv1.Port{Port: 80}, appv1.Port{Port: 81}), "ports: each needs a name"),
		Entry("one named and one unnamed port", ports(appv1.Port{Name: "a", Port: 80}, appv1.Port{Port: 81}), "ports: each needs a name"),
		Entry("two ports of one name", ports(appv1.Port{Name: "a", Port: 80}, appv1.Port{Name: "a", Port: 81}),
			"ports: a name stands for one port only"),
		Entry("one number twice", ports(appv1.Port{Name: "a", Port: 80}, appv1.Port{Name: "b", Port: 80}), "spec.ports[1]"),
		Entry("33 ports", ports(manyPorts(33)...), "spec.ports"),
		Entry("a port name of 16", ports(appv1.Port{Name: strings.Repeat("a", 16), Port: 80}), "spec.ports[0].name"),
		Entry("a port name without a letter", ports(appv1.Port{Name: "80", Port: 80}), "spec.ports[0].name"),
		Entry("a port name with two hyphens", ports(appv1.Port{Name: "a--b", Port: 80}), "spec.ports[0].name"),
		Entry("a protocol that is none", ports(appv1.Port{Port: 80, Protocol: "HTTP"}), "spec.ports[0].protocol"),
		Entry("targetPort 0", leadingTo(intstr.FromInt32(0)), "spec.ports[0].targetPort"),
		Entry("targetPort 65536", leadingTo(intstr.FromInt32(65_536)), "spec.ports[0].targetPort"),
		Entry("a targetPort in capitals", leadingTo(intstr.FromString("HTTP")), "spec.ports[0].targetPort"),
		Entry("a targetPort name of 16", leadingTo(intstr.FromString(strings.Repeat("a", 16))), "spec.ports[0].targetPort"),
		Entry("two ports that name one targetPort", ports(
			appv1.Port{Name: "a", Port: 80, TargetPort: text("web")}, appv1.Port{Name: "b", Port: 81, TargetPort: text("web")},
		), "ports: a targetPort that is a name"),
		Entry("nodePort 70000", ports(appv1.Port{Port: 80, NodePort: 70_000}), "spec.ports[0].nodePort"),
		Entry("nodePort on ClusterIP", plain().Type("ClusterIP").Ports(appv1.Port{Port: 80, NodePort: 30_080}).Build(), "ports: nodePort"),
		Entry("one nodePort twice", ports(appv1.Port{Name: "a", Port: 80, NodePort: 30_080}, appv1.Port{Name: "b", Port: 81, NodePort: 30_080}),
			"ports: a nodePort"),
		Entry("a type that is none of ours", plain().Type("ExternalName").Build(), "spec.service.type"),
		Entry("a traffic policy on ClusterIP", exposed(appv1.Exposure{Type: "ClusterIP", ExternalTrafficPolicy: "Local"}),
			"externalTrafficPolicy"),
		Entry("a traffic policy that is none", exposed(appv1.Exposure{ExternalTrafficPolicy: "Near"}), "spec.service.externalTrafficPolicy"),
		Entry("an affinity that is none", exposed(appv1.Exposure{SessionAffinity: "Cookie"}), "spec.service.sessionAffinity"),
		Entry("a load balancer's class on NodePort", exposed(appv1.Exposure{LoadBalancerClass: ptr.To("a/b")}), "loadBalancerClass"),
		Entry("readiness of nothing", probes(appv1.Probes{Readiness: &corev1.Probe{}}), "probes.readiness"),
		Entry("liveness of nothing", probes(appv1.Probes{Liveness: &corev1.Probe{}}), "probes.liveness"),
		Entry("startup of nothing", probes(appv1.Probes{Startup: &corev1.Probe{}}), "probes.startup"),
		Entry("a rollout that cannot move", pace(appv1.Strategy{MaxSurge: number(0), MaxUnavailable: text("0%")}), "maxSurge and maxUnavailable"),
		Entry("maxSurge below 0", pace(appv1.Strategy{MaxSurge: number(-1)}), "strategy.maxSurge"),
		Entry("maxSurge that is no number", pace(appv1.Strategy{MaxSurge: text("half")}), "strategy.maxSurge"),
		Entry("maxUnavailable beyond 100%", pace(appv1.Strategy{MaxUnavailable: text("101%")}), "strategy.maxUnavailable"),
		Entry("maxUnavailable below 0", pace(appv1.Strategy{MaxUnavailable: number(-1)}), "strategy.maxUnavailable"),
		Entry("minReadySeconds equal to the deadline", pace(appv1.Strategy{MinReadySeconds: 5, ProgressDeadlineSeconds: ptr.To[int32](5)}),
			"progressDeadlineSeconds"),
		Entry("minReadySeconds equal to the default deadline", pace(appv1.Strategy{MinReadySeconds: 600}), "progressDeadlineSeconds"),
		Entry("a deadline of 0", pace(appv1.Strategy{ProgressDeadlineSeconds: ptr.To[int32](0)}), "spec.strategy.progressDeadlineSeconds"),
		Entry("revisionHistoryLimit below 0", pace(appv1.Strategy{RevisionHistoryLimit: ptr.To[int32](-1)}),
			"spec.strategy.revisionHistoryLimit"),
		Entry("drainSeconds below 0", pace(appv1.Strategy{DrainSeconds: ptr.To[int64](-1)}), "spec.strategy.drainSeconds"),
		Entry("drainSeconds equal to the default grace", pace(appv1.Strategy{DrainSeconds: ptr.To[int64](30)}),
			"strategy.drainSeconds must be smaller than terminationGracePeriodSeconds"),
		Entry("drainSeconds equal to the grace", with(func(s *appv1.EasyServiceSpec) {
			s.Strategy, s.TerminationGracePeriodSeconds = &appv1.Strategy{DrainSeconds: ptr.To[int64](3)}, ptr.To[int64](3)
		}), "strategy.drainSeconds must be smaller than terminationGracePeriodSeconds"),
		Entry("onFailure that is none", pace(appv1.Strategy{OnFailure: "Panic"}), "spec.strategy.onFailure"),
		Entry("envFrom of nothing", envFrom(corev1.EnvFromSource{Prefix: "A_"}), "envFrom: each gives either configMapRef or secretRef"),
		Entry("envFrom of both", envFrom(corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{}, SecretRef: &corev1.SecretEnvSource{}}),
			"envFrom"),
		Entry("33 envFrom", envFrom(slices.Repeat([]corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: "a"}}}}, 33)...), "spec.envFrom"),
		Entry("a configRef of another kind", configRefs(appv1.ConfigRef{Kind: "Pod", Name: "a"}), "spec.configRefs[0].kind"),
		Entry("a configRef without a name", configRefs(appv1.ConfigRef{Kind: appv1.Secret}), "spec.configRefs[0].name"),
		Entry("the same configRef twice", configRefs(appv1.ConfigRef{Kind: appv1.Secret, Name: "a"},
			appv1.ConfigRef{Kind: appv1.Secret, Name: "a", Optional: true}), "spec.configRefs[1]"),
		Entry("the same volume twice", volumes(corev1.Volume{Name: "a"}, corev1.Volume{Name: "a"}), "spec.volumes[1]"),
		Entry("a volume of the operator's name", with(func(s *appv1.EasyServiceSpec) {
			s.Security, s.Volumes = commonv1.SecurityRestricted, []corev1.Volume{{Name: "tmp"}}
		}), "volumes: with security Restricted the name tmp"),
		Entry("two mounts at one path", with(func(s *appv1.EasyServiceSpec) {
			s.VolumeMounts = []corev1.VolumeMount{{Name: "a", MountPath: "/a"}, {Name: "b", MountPath: "/a"}}
		}), "spec.volumeMounts[1]"),
		Entry("a mount and no volume", with(func(s *appv1.EasyServiceSpec) {
			s.VolumeMounts = []corev1.VolumeMount{{Name: "a", MountPath: "/a"}}
		}), "volumeMounts needs volumes"),
		Entry("a service account that none may be called", with(func(s *appv1.EasyServiceSpec) { s.ServiceAccountName = "A" }),
			"spec.serviceAccountName"),
		Entry("headless on NodePort", exposed(appv1.Exposure{Headless: true}), "service.headless needs service.type ClusterIP"),
		Entry("an ingress without a port", ingress(appv1.Ingress{}), "ingress needs a TCP port"),
		Entry("an ingress on UDP", ingress(appv1.Ingress{}, appv1.Port{Port: 53, Protocol: corev1.ProtocolUDP}), "ingress needs a TCP port"),
		Entry("an ingress on a port that is not there", ingress(appv1.Ingress{Port: 81}, appv1.Port{Port: 80}),
			"ingress.port must be one of ports"),
		Entry("an ingress' host with a port", ingress(appv1.Ingress{Host: "a.example.org:80"}, appv1.Port{Port: 80}), "spec.ingress.host"),
		Entry("an ingress' path that is relative", ingress(appv1.Ingress{Path: "a"}, appv1.Port{Port: 80}), "spec.ingress.path"),
		Entry("an ingress' path type that is none", ingress(appv1.Ingress{PathType: "Regex"}, appv1.Port{Port: 80}), "spec.ingress.pathType"),
		Entry("a security profile that is none", with(func(s *appv1.EasyServiceSpec) { s.Security = "Privileged" }), "spec.security"),
		Entry("a name too long for a Service", builders.EasyService(strings.Repeat("a", 64)).Build(), "metadata.name"),
		Entry("a name that no Service may have", builders.EasyService("1a").Build(), "metadata.name"),
		Entry("a name with a dot", builders.EasyService("a.b").Build(), "metadata.name"),
	)

	DescribeTable("is accepted at the edge", func(obj client.Object) { accept(obj) },
		Entry("nothing said but the image", plain().Build()),
		Entry("size 0", plain().Size(0).Build()),
		Entry("size 1000", plain().Size(1000).Build()),
		Entry("image with port and digest", plain().Image("localhost:5000/a/app@sha256:"+strings.Repeat("0", 64)).Build()),
		Entry("image of 512", plain().Image(strings.Repeat("a", 512)).Build()),
		Entry("the root as workingDir", with(func(s *appv1.EasyServiceSpec) { s.WorkingDir = "/" })),
		Entry("an empty value next to a source", plain().Envs(corev1.EnvVar{Name: "A"}, corev1.EnvVar{Name: "B", ValueFrom: podName}).Build()),
		Entry("one unnamed port", ports(appv1.Port{Port: 1})),
		Entry("port 65535 on nodePort 65535", ports(appv1.Port{Port: 65_535, NodePort: 65_535})),
		Entry("TCP and UDP on one number and one nodePort", ports(
			appv1.Port{Name: "a", Port: 53, NodePort: 30_053}, appv1.Port{Name: "b", Port: 53, Protocol: corev1.ProtocolUDP, NodePort: 30_053},
		)),
		Entry("32 ports", ports(manyPorts(32)...)),
		Entry("a port name of 15", ports(appv1.Port{Name: "a-1-" + strings.Repeat("b", 11), Port: 80})),
		Entry("targetPort 1", leadingTo(intstr.FromInt32(1))),
		Entry("targetPort 65535", leadingTo(intstr.FromInt32(65_535))),
		Entry("a targetPort name of 15", leadingTo(intstr.FromString(strings.Repeat("a", 15)))),
		Entry("two ports that lead to one number", ports(
			appv1.Port{Name: "a", Port: 80, TargetPort: number(8080)}, appv1.Port{Name: "b", Port: 81, TargetPort: number(8080)},
		)),
		Entry("nodePort on LoadBalancer", plain().Type("LoadBalancer").Ports(appv1.Port{Port: 80, NodePort: 30_080}).Build()),
		Entry("ports on ClusterIP", plain().Type("ClusterIP").Ports(appv1.Port{Port: 80}).Build()),
		Entry("a traffic policy on NodePort", exposed(appv1.Exposure{ExternalTrafficPolicy: "Local"})),
		Entry("a load balancer's class", exposed(appv1.Exposure{Type: "LoadBalancer", LoadBalancerClass: ptr.To("a/b")})),
		Entry("probes that name what to ask", probes(appv1.Probes{
			Readiness: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt32(80)}}},
			Liveness:  &corev1.Probe{ProbeHandler: corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 80}}},
			Startup:   &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"a"}}}},
		})),
		Entry("a probe of the TCP port that there is", plain().Ports(appv1.Port{Port: 80}).With(func(s *appv1.EasyServiceSpec) {
			s.Probes = &appv1.Probes{Liveness: &corev1.Probe{PeriodSeconds: 1}}
		}).Build()),
		Entry("a rollout one by one", pace(appv1.Strategy{MaxSurge: number(0), MaxUnavailable: number(1)})),
		Entry("maxSurge 1000%, maxUnavailable 100%", pace(appv1.Strategy{MaxSurge: text("1000%"), MaxUnavailable: text("100%")})),
		Entry("minReadySeconds just below the default deadline", pace(appv1.Strategy{MinReadySeconds: 599})),
		Entry("minReadySeconds just below the deadline", pace(appv1.Strategy{MinReadySeconds: 5, ProgressDeadlineSeconds: ptr.To[int32](6)})),
		Entry("no old ReplicaSets", pace(appv1.Strategy{RevisionHistoryLimit: ptr.To[int32](0)})),
		Entry("drainSeconds just below the grace", with(func(s *appv1.EasyServiceSpec) {
			s.Strategy, s.TerminationGracePeriodSeconds = &appv1.Strategy{DrainSeconds: ptr.To[int64](3)}, ptr.To[int64](4)
		})),
		Entry("no drain and no grace", with(func(s *appv1.EasyServiceSpec) {
			s.Strategy, s.TerminationGracePeriodSeconds = &appv1.Strategy{DrainSeconds: ptr.To[int64](0)}, ptr.To[int64](0)
		})),
		Entry("a ConfigMap and a Secret of one name",
			configRefs(appv1.ConfigRef{Kind: appv1.Secret, Name: "a"}, appv1.ConfigRef{Kind: appv1.ConfigMap, Name: "a"})),
		Entry("the user's own tmp", with(func(s *appv1.EasyServiceSpec) {
			s.Security, s.Volumes, s.VolumeMounts = commonv1.SecurityRestricted, []corev1.Volume{{Name: "tmp"}},
				[]corev1.VolumeMount{{Name: "tmp", MountPath: "/tmp"}}
		})),
		Entry("a volume called tmp, as Baseline", volumes(corev1.Volume{Name: "tmp"})),
		Entry("headless on ClusterIP", exposed(appv1.Exposure{Type: "ClusterIP", Headless: true})),
		Entry("an ingress for any host", ingress(appv1.Ingress{}, appv1.Port{Port: 80})),
		Entry("an ingress for a wildcard on the second port",
			ingress(appv1.Ingress{Host: "*.example.org", Port: 81}, appv1.Port{Name: "a", Port: 80}, appv1.Port{Name: "b", Port: 81})),
		Entry("a name of 63", builders.EasyService(strings.Repeat("a", 63)).Build()),
		Entry("every field", fullEasyService()),
	)

	It("is refused another headless", func() {
		change := func(o client.Object) {
			o.(*appv1.EasyService).Spec.Service = appv1.Exposure{Type: "ClusterIP", Headless: true}
		}
		rejectUpdate(plain().Build(), change, "service.headless cannot be changed")
		rejectUpdate(exposed(appv1.Exposure{Type: "ClusterIP", Headless: true}),
			func(o client.Object) { o.(*appv1.EasyService).Spec.Service.Headless = false }, "service.headless cannot be changed")
		acceptUpdate(exposed(appv1.Exposure{Type: "ClusterIP", Headless: true}),
			func(o client.Object) { o.(*appv1.EasyService).Spec.Size = ptr.To[int32](2) })
	})

	It("defaults what is not said", func(ctx SpecContext) {
		obj := created(plain().Ports(appv1.Port{Port: 80}).Build()).(*appv1.EasyService)
		Expect(obj.Spec.Size).To(HaveValue(BeEquivalentTo(1)))
		Expect(obj.Spec.Security).To(Equal(commonv1.SecurityBaseline))
		Expect(obj.Spec.Service.Type).To(Equal(corev1.ServiceTypeNodePort))
		Expect(obj.Spec.Ports[0].Protocol).To(Equal(corev1.ProtocolTCP))
	})

	It("never changes what the cluster has allotted", func(ctx SpecContext) {
		e, before := exposedService(ctx, plain().Ports(appv1.Port{Name: "http", Port: 80}))
		held := before.Spec.Ports[0].NodePort
		Expect(held).NotTo(BeZero())
		for reason, changed := range orderly(
			"a new name", []appv1.Port{{Name: "web", Port: 80}},
			"a new number", []appv1.Port{{Name: "web", Port: 8080}},
			"no name", []appv1.Port{{Port: 8080}},
			"a new number without a name", []appv1.Port{{Port: 81}},
			"a second port", []appv1.Port{{Name: "a", Port: 81}, {Name: "b", Port: 82}},
			"names that change places", []appv1.Port{{Name: "b", Port: 81}, {Name: "a", Port: 82}},
			"the number said aloud", []appv1.Port{{Name: "b", Port: 81, NodePort: held}},
			"no more, and a new name", []appv1.Port{{Name: "c", Port: 81}},
			"said aloud again", []appv1.Port{{Name: "c", Port: 81, NodePort: held}},
			"no more, and a new number", []appv1.Port{{Name: "c", Port: 83}},
		) {
			update(ctx, e, func(o client.Object) { o.(*appv1.EasyService).Spec.Ports = changed })
			now := eventuallyOffers(ctx, e)
			Expect(now.Spec.Ports[0].NodePort).To(Equal(held), reason)
			Expect(now.Spec.ClusterIP).To(Equal(before.Spec.ClusterIP), reason)
			Expect(now.UID).To(Equal(before.UID), reason)
		}
	})

	It("gives a node port to another port when asked to, and all back to the cluster", func(ctx SpecContext) {
		e, before := exposedService(ctx, plain().Ports(appv1.Port{Name: "a", Port: 80}))
		held := before.Spec.Ports[0].NodePort
		update(ctx, e, func(o client.Object) {
			o.(*appv1.EasyService).Spec.Ports = []appv1.Port{{Name: "a", Port: 80}, {Name: "b", Port: 81, NodePort: held}}
		})
		moved := eventuallyOffers(ctx, e)
		Expect(moved.Spec.Ports[1].NodePort).To(Equal(held))
		Expect(moved.Spec.Ports[0].NodePort).NotTo(Or(BeZero(), Equal(held)))

		update(ctx, e, func(o client.Object) {
			spec := &o.(*appv1.EasyService).Spec
			spec.Ports, spec.Service.Type = []appv1.Port{{Name: "a", Port: 80}}, corev1.ServiceTypeClusterIP
		})
		Expect(eventuallyOffers(ctx, e).Spec.Ports[0].NodePort).To(BeZero())
	})

	It("says who holds a node port in the server's words, and takes it when it is free", func(ctx SpecContext) {
		_, taken := exposedService(ctx, plain().Ports(appv1.Port{Port: 80}))
		e, operator := operated(ctx, plain().Ports(appv1.Port{Port: 80, NodePort: taken.Spec.Ports[0].NodePort}))
		Eventually(checkCondition).WithArguments(ctx, e, commonv1.ConditionDegraded, metav1.ConditionTrue).Should(Succeed())
		Eventually(checkCondition).WithArguments(ctx, e, commonv1.ConditionAvailable, metav1.ConditionTrue).Should(Succeed())
		refused := func() []fault.Call {
			return operator.Calls(func(c fault.Call) bool { return c.Code == http.StatusUnprocessableEntity })
		}
		const retry = time.Minute // each comes later than the one before
		Eventually(refused).WithTimeout(retry).ShouldNot(HaveLen(len(refused())), "it is tried again")
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(e), e)).To(Succeed())
		Expect(e.Status.Conditions).To(ContainElement(And(
			HaveField("Type", commonv1.ConditionReady),
			HaveField("Reason", commonv1.ReasonRefusedByServer),
			HaveField("Message", ContainSubstring("spec.ports[0].nodePort: Invalid value: %d: provided port is already allocated",
				e.Spec.Ports[0].NodePort)),
		)))
		operator.Forget()
		Eventually(refused).WithTimeout(retry).ShouldNot(BeEmpty(), "it is tried again")
		Expect(operator.Calls(func(c fault.Call) bool { return c.Resource == "easyservices/status" })).To(BeEmpty(),
			"and nothing new is to be said")

		Expect(admin.Delete(ctx, taken)).To(Succeed())
		Eventually(checkCondition).WithArguments(ctx, e, commonv1.ConditionDegraded, metav1.ConditionFalse).WithTimeout(retry).Should(Succeed())
		Expect(eventuallyOffers(ctx, e).Spec.Ports[0].NodePort).To(Equal(taken.Spec.Ports[0].NodePort))
	})

	It("has no Service without ports, and a budget from size 2 on", func(ctx SpecContext) {
		e, _ := exposedService(ctx, plain().Size(2).Ports(appv1.Port{Port: 80}))
		Expect(versions(ctx, e.Namespace)).To(And(HaveLen(3), HaveKey("PodDisruptionBudget/a")))
		update(ctx, e, func(o client.Object) {
			spec := &o.(*appv1.EasyService).Spec
			spec.Ports, spec.Size = nil, ptr.To[int32](1)
		})
		Eventually(func() map[string]string { return versions(ctx, e.Namespace) }).Should(And(HaveLen(1), HaveKey("Deployment/a")))
		Eventually(checkCondition).WithArguments(ctx, e, commonv1.ConditionReady, metav1.ConditionTrue).Should(Succeed())
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(e), e)).To(Succeed())
		Expect(e.Status.Endpoints).To(And(BeEmpty(), Not(BeNil())))
	})

	It("follows its scale subresource to 0 and back", func(ctx SpecContext) {
		e, _ := exposedService(ctx, plain().Size(1).Ports(appv1.Port{Name: "http", Port: 80}))
		for _, size := range []int32{0, 3} {
			scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: size}}
			Expect(admin.SubResource("scale").Update(ctx, e, client.WithSubResourceBody(scale))).To(Succeed())
			Eventually(func(g Gomega) {
				g.Expect(checkCondition(ctx, e, commonv1.ConditionReady, metav1.ConditionTrue)).To(Succeed())
				g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(e), e)).To(Succeed())
				g.Expect(e.Spec.Size).To(HaveValue(Equal(size)))
				g.Expect(e.Status.Replicas).To(Equal(size))
				g.Expect(e.Status.ObservedGeneration).To(Equal(e.Generation))
			}).Should(Succeed())
			Expect(admin.SubResource("scale").Get(ctx, e, scale)).To(Succeed())
			Expect(scale.Status.Selector).To(Equal("app.kubernetes.io/instance=a,app.kubernetes.io/name=easyservice"))
		}
		Expect(e.Status.Endpoints).To(ContainElement(appv1.Endpoint{
			Name: "http", Type: corev1.ServiceTypeClusterIP, URL: "http://a." + e.Namespace + ".svc:80",
		}))
	})
})

// operated makes an EasyService in a place of its own, where an operator looks.
func operated(ctx context.Context, made *builders.EasyServiceBuilder) (*appv1.EasyService, *operator) {
	GinkgoHelper()
	namespace, err := makeNamespace(ctx, "baseline")
	Expect(err).NotTo(HaveOccurred())
	o := operate(namespace)
	e := made.In(namespace).Build()
	Expect(admin.Create(ctx, e)).To(Succeed())
	return e, o
}

// exposedService makes an EasyService and gives its Service, too.
func exposedService(ctx context.Context, made *builders.EasyServiceBuilder) (*appv1.EasyService, *corev1.Service) {
	GinkgoHelper()
	e, _ := operated(ctx, made)
	return e, eventuallyOffers(ctx, e)
}

// eventuallyOffers waits until the Service is as the spec has it, and the
// operator has nothing more to say about it.
func eventuallyOffers(ctx context.Context, e *appv1.EasyService) *corev1.Service {
	GinkgoHelper()
	service := &corev1.Service{}
	Eventually(func(g Gomega) {
		g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(e), service)).To(Succeed())
		g.Expect(checkCondition(ctx, e, commonv1.ConditionReady, metav1.ConditionTrue)).To(Succeed())
		g.Expect(service.Spec.Type).To(Equal(e.Spec.Service.Type))
		g.Expect(service.Spec.Ports).To(HaveLen(len(e.Spec.Ports)))
		for i, p := range e.Spec.Ports {
			g.Expect(service.Spec.Ports[i]).To(And(HaveField("Name", p.Name), HaveField("Port", p.Port)))
		}
	}).Should(Succeed())
	return service
}

func manyPorts(count int32) []appv1.Port {
	list := make([]appv1.Port, 0, count)
	for i := range count {
		list = append(list, appv1.Port{Name: fmt.Sprintf("p%d", i), Port: 1 + i})
	}
	return list
}

// orderly gives pairs of a reason and ports, in the order written.
func orderly(pairs ...any) func(yield func(string, []appv1.Port) bool) {
	return func(yield func(string, []appv1.Port) bool) {
		for i := 0; i < len(pairs); i += 2 {
			if !yield(pairs[i].(string), pairs[i+1].([]appv1.Port)) {
				return
			}
		}
	}
}
