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
	// appName is the value of app.kubernetes.io/name on all children.
	appName = "easyservice"
	// probePeriodSeconds is the period of the default readiness probe, in seconds.
	probePeriodSeconds = 2
)

// desired returns all children, with the pods by the given template. From the world it takes the node ports that the
// Service was given, and the sockets that the pods listen on.
func desired(e *appv1.EasyService, podTemplate *corev1ac.PodTemplateSpecApplyConfiguration, w world) []converge.Child {
	children, all := []converge.Child{deployment(e, podTemplate)}, listeners(podTemplate, w.pods)
	if len(e.Spec.Ports) > 0 {
		children = append(children, service(e, w.servicePorts, all))
	}
	if size(e) >= 2 {
		children = append(children, parts.DisruptionBudget(appName, e.Name, e.Spec.Disruption, policyv1.AlwaysAllow))
	}
	return append(children, networkChildren(e, all)...)
}

func size(e *appv1.EasyService) int32 { return ptr.Deref(e.Spec.Size, 1) }

func deployment(e *appv1.EasyService, podTemplate *corev1ac.PodTemplateSpecApplyConfiguration) *appsv1ac.DeploymentApplyConfiguration {
	spec := appsv1ac.DeploymentSpec().
		WithReplicas(size(e)).
		WithSelector(parts.LabelSelector(appName, e.Name)).
		WithStrategy(appsv1ac.DeploymentStrategy().WithType(appsv1.RollingUpdateDeploymentStrategyType)).
		WithTemplate(podTemplate)
	if e.Spec.Strategy != nil {
		setStrategy(spec, e.Spec.Strategy)
	}
	if seconds := minReadySeconds(e); seconds > 0 {
		spec.WithMinReadySeconds(seconds)
	}
	return appsv1ac.Deployment(e.Name, "").WithLabels(parts.Labels(appName, e.Name)).WithSpec(spec)
}

// template is the pod template that the spec asks for. config is the digest of what configRefs name.
func template(e *appv1.EasyService, config string) *corev1ac.PodTemplateSpecApplyConfiguration {
	made := parts.PodTemplate(appName, e.Name, e.Spec.PodOptions)
	made.Spec.
		WithSecurityContext(parts.BaselinePod()).
		WithVolumes(parts.ToApplyConfigs[corev1ac.VolumeApplyConfiguration](e.Spec.Volumes)...).
		WithContainers(container(e))
	if config != "" {
		made.WithAnnotations(map[string]string{annotationConfig: config})
	}
	if account := e.Spec.ServiceAccountName; account != "" {
		// Under its deprecated name, too: if only one of the pair were removed later, the API server would restore it
		// from the other.
		made.Spec.WithServiceAccountName(account).WithDeprecatedServiceAccount(account)
		made.Spec.AutomountServiceAccountToken = nil // the ServiceAccount says
	}
	if e.Spec.Security == commonv1.SecurityRestricted {
		restrictPod(made.Spec)
	}
	return made
}

// withDefaults adds the current defaults to a template, unless the former ones are to stay. Where the spec names no resources, those of
// a small server are requested; how much one needs at most is not known, so a limit is the user's to set.
func withDefaults(e *appv1.EasyService, made *corev1ac.PodTemplateSpecApplyConfiguration,
	d parts.Defaults) *corev1ac.PodTemplateSpecApplyConfiguration {
	if d == parts.FormerDefaults {
		return made
	}
	parts.WithResources(&made.Spec.Containers[0], parts.FillResources(e.Spec.Resources, parts.Resources("10m", "16Mi", "", "")))
	return parts.MarkDefaults(made, d)
}

// setStrategy sets what the user chose for rollouts; the API server sets the rest.
func setStrategy(spec *appsv1ac.DeploymentSpecApplyConfiguration, s *appv1.Strategy) {
	if s.MaxSurge != nil || s.MaxUnavailable != nil {
		spec.Strategy.WithRollingUpdate(&appsv1ac.RollingUpdateDeploymentApplyConfiguration{
			MaxSurge: s.MaxSurge, MaxUnavailable: s.MaxUnavailable,
		})
	}
	spec.ProgressDeadlineSeconds = s.ProgressDeadlineSeconds
	spec.RevisionHistoryLimit = s.RevisionHistoryLimit
}

func container(e *appv1.EasyService) *corev1ac.ContainerApplyConfiguration {
	c := parts.Container(appName, e.Spec.Image, e.Spec.PodOptions).
		WithCommand(e.Spec.Command...).
		WithArgs(e.Spec.Args...).
		WithEnv(parts.ToApplyConfigs[corev1ac.EnvVarApplyConfiguration](e.Spec.Envs)...).
		WithEnvFrom(parts.ToApplyConfigs[corev1ac.EnvFromSourceApplyConfiguration](e.Spec.EnvFrom)...).
		WithPorts(containerPorts(e.Spec.Ports)...).
		WithVolumeMounts(parts.ToApplyConfigs[corev1ac.VolumeMountApplyConfiguration](e.Spec.VolumeMounts)...).
		WithResources(parts.ToApplyConfig[corev1ac.ResourceRequirementsApplyConfiguration](e.Spec.Resources)).
		WithSecurityContext(parts.BaselineContainer())
	if e.Spec.WorkingDir != "" {
		c.WithWorkingDir(e.Spec.WorkingDir)
	}
	return setProbes(parts.WithPreStopSleep(c, drainSeconds(e)), ptr.Deref(e.Spec.Probes, appv1.Probes{}), tcpProbe(e.Spec.Ports))
}

// drainSeconds is how many seconds a pod that is deleted continues to serve.
func drainSeconds(e *appv1.EasyService) int64 {
	switch {
	case e.Spec.Strategy != nil && e.Spec.Strategy.DrainSeconds != nil:
		return *e.Spec.Strategy.DrainSeconds
	case len(e.Spec.Ports) == 0:
		return 0 // no client is led to it
	}
	return parts.PreStopSeconds(e.Spec.PodOptions)
}

// restrictPod takes away root, every capability and the writable root file system. It leaves /tmp writable, and lets
// the container listen on ports below 1024 without privilege.
func restrictPod(pod *corev1ac.PodSpecApplyConfiguration) {
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

// setProbes sets the user's probes, and a readiness probe by default. A probe without a handler gets fallback.
func setProbes(c *corev1ac.ContainerApplyConfiguration, chosen appv1.Probes,
	fallback *corev1.TCPSocketAction) *corev1ac.ContainerApplyConfiguration {
	made := func(p *corev1.Probe) *corev1ac.ProbeApplyConfiguration {
		if p == nil {
			return nil
		}
		full := *p
		if full.ProbeHandler == (corev1.ProbeHandler{}) {
			full.TCPSocket = fallback
		}
		return parts.ToApplyConfig[corev1ac.ProbeApplyConfiguration](full)
	}
	if chosen.Readiness == nil && fallback != nil {
		chosen.Readiness = &corev1.Probe{PeriodSeconds: probePeriodSeconds}
	}
	c.ReadinessProbe = made(chosen.Readiness)
	c.LivenessProbe = made(chosen.Liveness)
	c.StartupProbe = made(chosen.Startup)
	return c
}

// tcpProbe connects to the first TCP port; nil when there is none.
func tcpProbe(ports []appv1.Port) *corev1.TCPSocketAction {
	if p := firstTCP(ports); p.Port != 0 {
		return &corev1.TCPSocketAction{Port: intstr.FromInt32(targetNumber(p))}
	}
	return nil
}

func service(e *appv1.EasyService, existing []corev1.ServicePort, all []listener) *corev1ac.ServiceApplyConfiguration {
	chosen := e.Spec.Service
	spec := corev1ac.ServiceSpec().
		WithType(serviceType(e)).
		WithSelector(parts.SelectorLabels(appName, e.Name)).
		WithPorts(servicePorts(e.Spec.Ports, serviceType(e), existing, all)...)
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
		WithLabels(parts.Labels(appName, e.Name)).
		WithAnnotations(chosen.Annotations).
		WithSpec(spec)
}

func serviceType(e *appv1.EasyService) corev1.ServiceType {
	return cmp.Or(e.Spec.Service.Type, corev1.ServiceTypeNodePort)
}
