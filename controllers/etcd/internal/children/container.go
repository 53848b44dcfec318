package children

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/launcher"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/wire"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// launcherInstaller copies the program into the pod that starts etcd when the operator allows it.
func launcherInstaller(in Inputs) *corev1ac.ContainerApplyConfiguration {
	installer := parts.Container("launcher", in.LauncherImage, in.Cluster.Spec.PodOptions).
		WithCommand("/"+launcher.ProgramFile, launcher.InstallCommand, launcher.ProgramDir).
		WithSecurityContext(parts.RestrictedContainer()).
		WithVolumeMounts(corev1ac.VolumeMount().WithName("program").WithMountPath(launcher.ProgramDir))
	if in.Defaults == parts.FormerDefaults {
		return installer
	}
	return parts.WithResources(installer, parts.HelperResources())
}

// resources returns those of the spec. Where it names none, an idle member's are requested: how much memory one needs at most depends
// on its data and its clients, so a limit is the user's to set.
func resources(in Inputs, d parts.Defaults) corev1.ResourceRequirements {
	if d == parts.FormerDefaults {
		return in.Cluster.Spec.Resources
	}
	return parts.FillResources(in.Cluster.Spec.Resources, parts.Resources("50m", "64Mi", "", ""))
}

func container(in Inputs) *corev1ac.ContainerApplyConfiguration {
	field := func(name, path string) *corev1ac.EnvVarApplyConfiguration {
		return corev1ac.EnvVar().WithName(name).WithValueFrom(corev1ac.EnvVarSource().
			WithFieldRef(corev1ac.ObjectFieldSelector().WithFieldPath(path)))
	}
	port := func(name string, number int32) *corev1ac.ContainerPortApplyConfiguration {
		return corev1ac.ContainerPort().WithName(name).WithContainerPort(number).WithProtocol(corev1.ProtocolTCP)
	}
	probe := func(path string) *corev1ac.ProbeApplyConfiguration {
		return corev1ac.Probe().WithHTTPGet(corev1ac.HTTPGetAction().
			WithPath(path).WithPort(intstr.FromString(metricsPort)).WithScheme(corev1.URISchemeHTTP))
	}
	return parts.Container(config.AppName, in.Image, in.Cluster.Spec.PodOptions).
		WithCommand(launcher.ProgramDir+"/"+launcher.ProgramFile, launcher.StartCommand).
		WithArgs(arguments(in)...).
		WithEnv(field("POD_NAME", "metadata.name"), field(launcher.PodUIDEnv, "metadata.uid")).
		WithPorts(port(clientPort, wire.ClientPort), port(peerPort, wire.PeerPort), port(metricsPort, wire.MetricsPort)).
		WithResources(parts.ToApplyConfig[corev1ac.ResourceRequirementsApplyConfiguration](resources(in, in.Defaults))).
		WithSecurityContext(parts.RestrictedContainer()).
		WithVolumeMounts(
			corev1ac.VolumeMount().WithName(config.DataVolume).WithMountPath(launcher.DataDir),
			corev1ac.VolumeMount().WithName("program").WithMountPath(launcher.ProgramDir),
			corev1ac.VolumeMount().WithName("permit").WithMountPath(launcher.PermitDir).WithReadOnly(true),
			corev1ac.VolumeMount().WithName("peers").WithMountPath(peersDir).WithReadOnly(true)).
		// A leader that is asked to go serves on until another leads.
		WithLifecycle(corev1ac.Lifecycle().WithPreStop(corev1ac.LifecycleHandler().WithExec(corev1ac.ExecAction().WithCommand(
			launcher.ProgramDir+"/"+launcher.ProgramFile, launcher.HandoverCommand,
			fmt.Sprintf("%ds", parts.PreStopSeconds(in.Cluster.Spec.PodOptions)))))).
		// A pod may wait for its start for as long as it takes, and a member without a majority is not restarted for it.
		WithStartupProbe(probe("/livez").WithPeriodSeconds(1).WithTimeoutSeconds(5).WithFailureThreshold(1 << 30)).
		WithLivenessProbe(probe("/livez").WithPeriodSeconds(livenessPeriod).WithTimeoutSeconds(livenessPeriod).
			WithFailureThreshold(livenessFailures(quotaOfPods(in)))).
		WithReadinessProbe(probe("/readyz").WithPeriodSeconds(2).WithTimeoutSeconds(5).WithFailureThreshold(2))
}

const (
	// livenessPeriod is the time between two probes, in seconds.
	livenessPeriod = 10
	// slowestDisk is how much a disk writes at least that etcd can live with, in bytes per second.
	slowestDisk = 16 << 20
)

// livenessFailures is how often a server may fail its probe before it is restarted: for a minute, and for as long as a slow disk
// takes to write all data again, since a server that is being defragmented reads nothing.
func livenessFailures(quota int64) int32 {
	return int32(60/livenessPeriod + quota/(slowestDisk*livenessPeriod)) //nolint:gosec // a quota is some GiB
}
