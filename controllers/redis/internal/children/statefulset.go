package children

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/volumes"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

const (
	// portName names the port of Redis in pods and Services.
	portName = "redis"
	// redisUID is the UID of the redis and valkey users in the official images.
	redisUID = 999

	// LabelPod is set by the StatefulSet controller: the master's Service selects by it.
	LabelPod = "statefulset.kubernetes.io/pod-name"
	// DataVolume is where a node keeps its data.
	DataVolume = "data"
	// AnnotationConfig rolls the pods when settings change that take effect only at a start.
	AnnotationConfig = "mainstay-operator.io/config"

	defaultGraceSeconds = 30
	// shutdownSeconds is the part of the grace that is for the server's own end after the switchover.
	shutdownSeconds = 12
)

// statefulSet leaves it to the plan when pods restart (OnDelete): a master must be switched over first.
func statefulSet(in Inputs) *appsv1ac.StatefulSetApplyConfiguration {
	template := parts.WithRestartedAt(parts.PodTemplate(config.AppName, in.Redis.Name, in.Redis.Spec.PodOptions), in.RestartedAt).
		WithAnnotations(map[string]string{AnnotationConfig: in.Spec.RestartSettings(in.Settings)})
	parts.MarkDefaults(template, in.Defaults)
	template.Spec.
		WithTerminationGracePeriodSeconds(stopGrace(in)).
		WithReadinessGates(corev1ac.PodReadinessGate().WithConditionType(topology.GateInSync)).
		WithSecurityContext(parts.RestrictedPod(redisUID)).
		WithContainers(container(in)).
		WithVolumes(corev1ac.Volume().WithName("files").WithSecret(corev1ac.SecretVolumeSource().
			WithSecretName(in.Spec.FilesName()).WithDefaultMode(0o440).WithItems(keyToPath(config.ConfKey), keyToPath(config.UsersKey))))
	spec := appsv1ac.StatefulSetSpec().
		WithReplicas(in.Replicas).
		WithServiceName(in.Spec.HeadlessName()).
		WithPodManagementPolicy(appsv1.ParallelPodManagement).
		WithUpdateStrategy(appsv1ac.StatefulSetUpdateStrategy().WithType(appsv1.OnDeleteStatefulSetStrategyType)).
		WithSelector(parts.LabelSelector(config.AppName, in.Redis.Name)).
		WithTemplate(template)
	if in.Spec.TLS {
		addTLSVolumes(in.Spec, template.Spec)
	}
	if in.Spec.Storage == nil {
		template.Spec.WithVolumes(corev1ac.Volume().WithName(DataVolume).WithEmptyDir(corev1ac.EmptyDirVolumeSource()))
	} else {
		claim := parts.ClaimTemplate(config.AppName, in.Redis.Name, DataVolume, in.VolumeSize, in.Spec.Storage.StorageClassName)
		spec.WithVolumeClaimTemplates(claim).WithPersistentVolumeClaimRetentionPolicy(volumes.RetentionPolicy())
	}
	return appsv1ac.StatefulSet(in.Redis.Name, "").WithLabels(parts.Labels(config.AppName, in.Redis.Name)).WithSpec(spec)
}

func keyToPath(key string) *corev1ac.KeyToPathApplyConfiguration {
	return corev1ac.KeyToPath().WithKey(key).WithPath(key)
}

func stopGrace(in Inputs) int64 {
	return ptr.Deref(in.Redis.Spec.TerminationGracePeriodSeconds, defaultGraceSeconds)
}

func container(in Inputs) *corev1ac.ContainerApplyConfiguration {
	return parts.Container(config.AppName, in.Image, in.Redis.Spec.PodOptions).
		WithCommand(in.Spec.ServerProgram(), config.FilesDir+"/"+config.ConfKey).
		WithWorkingDir(config.DataDir).
		WithPorts(corev1ac.ContainerPort().WithName(portName).WithContainerPort(wire.Port).WithProtocol(corev1.ProtocolTCP)).
		WithResources(parts.ToApplyConfig[corev1ac.ResourceRequirementsApplyConfiguration](resources(in, in.Defaults))).
		WithSecurityContext(parts.RestrictedContainer()).
		WithVolumeMounts(
			corev1ac.VolumeMount().WithName("files").WithMountPath(config.FilesDir).WithReadOnly(true),
			corev1ac.VolumeMount().WithName(DataVolume).WithMountPath(config.DataDir)).
		WithReadinessProbe(corev1ac.Probe().
			WithExec(execShell(probeClient(in.Spec) + `ping | grep -q PONG`)).
			WithPeriodSeconds(3).WithTimeoutSeconds(3).WithFailureThreshold(3)).
		WithLifecycle(corev1ac.Lifecycle().WithPreStop(corev1ac.LifecycleHandler().WithExec(execShell(fmt.Sprintf(
			// A master that is asked to go serves on until another is master.
			`n=%d; while [ $n -gt 0 ] && [ "$(%srole | head -n 1)" = master ]; do sleep 0.2; n=$((n-1)); done`,
			max(0, stopGrace(in)-shutdownSeconds)*5, probeClient(in.Spec))))))
}

// resources returns those of the spec. Where it names none, an empty server's are requested: how much memory one needs at most depends
// on its data, so a limit is the user's to set. maxmemory follows that limit.
func resources(in Inputs, d parts.Defaults) corev1.ResourceRequirements {
	if d == parts.FormerDefaults {
		return in.Redis.Spec.Resources
	}
	return parts.FillResources(in.Redis.Spec.Resources, parts.Resources("20m", "32Mi", "", ""))
}

// probeClient is the command of a client that logs in as the user that has no password and may only ask.
func probeClient(spec config.Spec) string {
	program := "timeout 2 " + spec.ClientProgram()
	if spec.TLS {
		program += " -s " + config.SocketPath
	}
	return program + " --no-auth-warning --user " + wire.Probe + " --pass - "
}

func execShell(line string) *corev1ac.ExecActionApplyConfiguration {
	return corev1ac.ExecAction().WithCommand("sh", "-c", line)
}

// ChooseDefaults returns the defaults that restart no pod of the live workload.
func ChooseDefaults(in Inputs, live converge.Workload) parts.Defaults {
	return converge.ChooseDefaults(live, func(d parts.Defaults) *corev1ac.PodTemplateSpecApplyConfiguration {
		in.Defaults = d
		return statefulSet(in).Spec.Template
	})
}
