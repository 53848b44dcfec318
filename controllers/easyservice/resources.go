package easyservice

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

const (
	// kind is the value of app.kubernetes.io/name on all children.
	kind = "easyservice"
	// probePeriod of the default readiness probe, in seconds.
	probePeriod = 2
)

// desired are all children, the pods by the given template. Of what was seen, the ports of
// the Service tell the node ports that they were given, and the pods where they listen.
func desired(e *appv1.EasyService, given *corev1ac.PodTemplateSpecApplyConfiguration, w world) []converge.Child {
	children, all := []converge.Child{deployment(e, given)}, listeners(given, w.pods)
	if len(e.Spec.Ports) > 0 {
		children = append(children, service(e, w.held, all))
	}
	if size(e) >= 2 {
		children = append(children, parts.Budget(kind, e.Name, e.Spec.Disruption, policyv1.AlwaysAllow))
	}
	return append(children, routes(e, all)...)
}

func size(e *appv1.EasyService) int32 { return ptr.Deref(e.Spec.Size, 1) }

func deployment(e *appv1.EasyService, given *corev1ac.PodTemplateSpecApplyConfiguration) *appsv1ac.DeploymentApplyConfiguration {
	spec := appsv1ac.DeploymentSpec().
		WithReplicas(size(e)).
		WithSelector(parts.Select(kind, e.Name)).
		WithStrategy(appsv1ac.DeploymentStrategy().WithType(appsv1.RollingUpdateDeploymentStrategyType)).
		WithTemplate(given)
	if e.Spec.Strategy != nil {
		pace(spec, e.Spec.Strategy)
	}
	if seconds := minReadySeconds(e); seconds > 0 {
		spec.WithMinReadySeconds(seconds)
	}
	return appsv1ac.Deployment(e.Name, "").WithLabels(parts.Labels(kind, e.Name)).WithSpec(spec)
}

// template of the pods that the spec asks for. config is the digest of what
// configRefs name.
func template(e *appv1.EasyService, config string) *corev1ac.PodTemplateSpecApplyConfiguration {
	made := parts.Template(kind, e.Name, e.Spec.PodOptions)
	made.Spec.
		WithSecurityContext(parts.BaselinePod()).
		WithVolumes(parts.All[corev1ac.VolumeApplyConfiguration](e.Spec.Volumes)...).
		WithContainers(container(e))
	if config != "" {
		made.WithAnnotations(map[string]string{annotationConfig: config})
	}
	if account := e.Spec.ServiceAccountName; account != "" {
		// Under its old name, too: the API server would give what is left of the pair to both.
		made.Spec.WithServiceAccountName(account).WithDeprecatedServiceAccount(account)
		made.Spec.AutomountServiceAccountToken = nil // the ServiceAccount says
	}
	if e.Spec.Security == commonv1.SecurityRestricted {
		restrict(made.Spec)
	}
	return made
}

// pace sets what the user chose of a rollout; the rest is the API server's.
func pace(spec *appsv1ac.DeploymentSpecApplyConfiguration, s *appv1.Strategy) {
	if s.MaxSurge != nil || s.MaxUnavailable != nil {
		spec.Strategy.WithRollingUpdate(&appsv1ac.RollingUpdateDeploymentApplyConfiguration{
			MaxSurge: s.MaxSurge, MaxUnavailable: s.MaxUnavailable,
		})
	}
	spec.ProgressDeadlineSeconds = s.ProgressDeadlineSeconds
	spec.RevisionHistoryLimit = s.RevisionHistoryLimit
}

func container(e *appv1.EasyService) *corev1ac.ContainerApplyConfiguration {
	c := parts.Container(kind, e.Spec.Image, e.Spec.PodOptions).
		WithCommand(e.Spec.Command...).
		WithArgs(e.Spec.Args...).
		WithEnv(parts.All[corev1ac.EnvVarApplyConfiguration](e.Spec.Envs)...).
		WithEnvFrom(parts.All[corev1ac.EnvFromSourceApplyConfiguration](e.Spec.EnvFrom)...).
		WithPorts(containerPorts(e.Spec.Ports)...).
		WithVolumeMounts(parts.All[corev1ac.VolumeMountApplyConfiguration](e.Spec.VolumeMounts)...).
		WithResources(parts.As[corev1ac.ResourceRequirementsApplyConfiguration](e.Spec.Resources)).
		WithSecurityContext(parts.BaselineContainer())
	if e.Spec.WorkingDir != "" {
		c.WithWorkingDir(e.Spec.WorkingDir)
	}
	return probe(parts.Lingering(c, drain(e)), ptr.Deref(e.Spec.Probes, appv1.Probes{}), knock(e.Spec.Ports))
}

// drain is how many seconds a pod that must go serves on.
func drain(e *appv1.EasyService) int64 {
	switch {
	case e.Spec.Strategy != nil && e.Spec.Strategy.DrainSeconds != nil:
		return *e.Spec.Strategy.DrainSeconds
	case len(e.Spec.Ports) == 0:
		return 0 // nobody is led to it
	}
	return parts.Linger(e.Spec.PodOptions)
}

// restrict takes root, every capability and the writable root file system away,
// but leaves /tmp, and the ports below 1024 that need no privilege this way.
func restrict(pod *corev1ac.PodSpecApplyConfiguration) {
	const tmp, path = "tmp", "/tmp"
	pod.SecurityContext.
		WithRunAsNonRoot(true).
		WithSysctls(corev1ac.Sysctl().WithName("net.ipv4.ip_unprivileged_port_start").WithValue("0"))
	only := &pod.Containers[0]
	only.WithSecurityContext(parts.RestrictedContainer())
	if slices.ContainsFunc(only.VolumeMounts, func(m corev1ac.VolumeMountApplyConfiguration) bool { return *m.MountPath == path }) {
		return // the user's
	}
	pod.WithVolumes(corev1ac.Volume().WithName(tmp).WithEmptyDir(corev1ac.EmptyDirVolumeSource()))
	only.WithVolumeMounts(corev1ac.VolumeMount().WithName(tmp).WithMountPath(path))
}

// probe sets the user's probes, and readiness by default. One that names nothing
// to ask knocks.
func probe(c *corev1ac.ContainerApplyConfiguration, chosen appv1.Probes, knock *corev1.TCPSocketAction) *corev1ac.ContainerApplyConfiguration {
	made := func(p *corev1.Probe) *corev1ac.ProbeApplyConfiguration {
		if p == nil {
			return nil
		}
		full := *p
		if full.ProbeHandler == (corev1.ProbeHandler{}) {
			full.TCPSocket = knock
		}
		return parts.As[corev1ac.ProbeApplyConfiguration](full)
	}
	if chosen.Readiness == nil && knock != nil {
		chosen.Readiness = &corev1.Probe{PeriodSeconds: probePeriod}
	}
	c.ReadinessProbe = made(chosen.Readiness)
	c.LivenessProbe = made(chosen.Liveness)
	c.StartupProbe = made(chosen.Startup)
	return c
}

// knock connects to the first TCP port; nil when there is none.
func knock(ports []appv1.Port) *corev1.TCPSocketAction {
	if p := firstTCP(ports); p.Port != 0 {
		return &corev1.TCPSocketAction{Port: intstr.FromInt32(listens(p))}
	}
	return nil
}

func service(e *appv1.EasyService, held []corev1.ServicePort, all []listener) *corev1ac.ServiceApplyConfiguration {
	chosen := e.Spec.Service
	spec := corev1ac.ServiceSpec().
		WithType(exposure(e)).
		WithSelector(parts.Selector(kind, e.Name)).
		WithPorts(servicePorts(e.Spec.Ports, exposure(e), held, all)...)
	if chosen.ExternalTrafficPolicy != "" {
		spec.WithExternalTrafficPolicy(chosen.ExternalTrafficPolicy)
	}
	if chosen.SessionAffinity != "" {
		spec.WithSessionAffinity(chosen.SessionAffinity)
	}
	if chosen.Headless {
		spec.WithClusterIP(corev1.ClusterIPNone)
	}
	spec.LoadBalancerClass = chosen.LoadBalancerClass
	return corev1ac.Service(e.Name, "").
		WithLabels(parts.Labels(kind, e.Name)).
		WithAnnotations(chosen.Annotations).
		WithSpec(spec)
}

func exposure(e *appv1.EasyService) corev1.ServiceType {
	return cmp.Or(e.Spec.Service.Type, corev1.ServiceTypeNodePort)
}
