package redis

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/volumes"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

const (
	// appName is the value of app.kubernetes.io/name on all children.
	appName = "redis"
	// portName names the port of Redis in pods and Services.
	portName = "redis"
	// redisUID is the UID of the redis and valkey users in the official images.
	redisUID = 999

	// labelPod is set by the StatefulSet controller: the master's Service selects by it.
	labelPod = "statefulset.kubernetes.io/pod-name"
	// dataVolume is where a node keeps its data.
	dataVolume = "data"
	// annotationConfig rolls the pods when settings change that take effect only at a start.
	annotationConfig = "mainstay-operator.io/config"

	defaultGraceSeconds = 30
	// shutdownSeconds is the part of the grace that is for the server's own end after the switchover.
	shutdownSeconds = 12
)

// childInputs is what the children depend on beside the object; spec is the object's, resolved.
type childInputs struct {
	spec              config.Spec
	credentials       config.Credentials
	settings          config.Settings
	image             string
	defaults          parts.Defaults
	volumeSize        resource.Quantity // of new nodes: a StatefulSet cannot change it
	replicas          int32
	identity          config.Identity // of the servers, with TLS
	restartedAt       string          // when a human asked for new pods, to be kept as they wrote it
	operatorNamespace string          // namespace of the manager; empty where it runs in no pod
}

// desiredChildren are all children. The route to the master comes first, as it is all that clients wait for
// after a failover.
func desiredChildren(r *cachev1alpha1.Redis, c childInputs) []converge.Child {
	var children []converge.Child
	if r.Status.Master != "" {
		children = append(children, masterService(r))
	}
	// Passwords and certificates are kept before anything can start with them.
	if c.spec.TLS {
		children = append(children, certificatesSecret(r, c))
	}
	children = append(children, systemSecret(r, c), filesSecret(r, c), backupSecret(r, c))
	if c.credentials.Published.Password != "" {
		children = append(children, bindingSecret(r, c))
	}
	children = append(children, headlessService(r, c.spec), replicasService(r, c.spec), statefulSet(r, c))
	if c.spec.Size >= 2 {
		children = append(children, parts.DisruptionBudget(appName, r.Name, r.Spec.Disruption, policyv1.IfHealthyBudget))
	}
	if r.Spec.NetworkPolicy != nil {
		children = append(children, networkPolicy(r, c.operatorNamespace))
	}
	return children
}

// statefulSet leaves it to the plan when pods restart (OnDelete): a master must be switched over first.
func statefulSet(r *cachev1alpha1.Redis, c childInputs) *appsv1ac.StatefulSetApplyConfiguration {
	template := parts.WithRestartedAt(parts.PodTemplate(appName, r.Name, r.Spec.PodOptions), c.restartedAt).
		WithAnnotations(map[string]string{annotationConfig: c.spec.RestartSettings(c.settings)})
	parts.MarkDefaults(template, c.defaults)
	template.Spec.
		WithTerminationGracePeriodSeconds(stopGrace(r)).
		WithReadinessGates(corev1ac.PodReadinessGate().WithConditionType(topology.GateInSync)).
		WithSecurityContext(parts.RestrictedPod(redisUID)).
		WithContainers(container(r, c)).
		WithVolumes(corev1ac.Volume().WithName("files").WithSecret(corev1ac.SecretVolumeSource().
			WithSecretName(c.spec.FilesName()).WithDefaultMode(0o440).WithItems(keyToPath(config.ConfKey), keyToPath(config.UsersKey))))
	spec := appsv1ac.StatefulSetSpec().
		WithReplicas(c.replicas).
		WithServiceName(c.spec.HeadlessName()).
		WithPodManagementPolicy(appsv1.ParallelPodManagement).
		WithUpdateStrategy(appsv1ac.StatefulSetUpdateStrategy().WithType(appsv1.OnDeleteStatefulSetStrategyType)).
		WithSelector(parts.LabelSelector(appName, r.Name)).
		WithTemplate(template)
	if c.spec.TLS {
		addTLSVolumes(c.spec, template.Spec)
	}
	if c.spec.Storage == nil {
		template.Spec.WithVolumes(corev1ac.Volume().WithName(dataVolume).WithEmptyDir(corev1ac.EmptyDirVolumeSource()))
	} else {
		claim := parts.ClaimTemplate(appName, r.Name, dataVolume, c.volumeSize, c.spec.Storage.StorageClassName)
		spec.WithVolumeClaimTemplates(claim).WithPersistentVolumeClaimRetentionPolicy(volumes.RetentionPolicy())
	}
	return appsv1ac.StatefulSet(r.Name, "").WithLabels(parts.Labels(appName, r.Name)).WithSpec(spec)
}

func keyToPath(key string) *corev1ac.KeyToPathApplyConfiguration {
	return corev1ac.KeyToPath().WithKey(key).WithPath(key)
}

func stopGrace(r *cachev1alpha1.Redis) int64 {
	return ptr.Deref(r.Spec.TerminationGracePeriodSeconds, defaultGraceSeconds)
}

func container(r *cachev1alpha1.Redis, c childInputs) *corev1ac.ContainerApplyConfiguration {
	return parts.Container(appName, c.image, r.Spec.PodOptions).
		WithCommand(c.spec.ServerProgram(), config.FilesDir+"/"+config.ConfKey).
		WithWorkingDir(config.DataDir).
		WithPorts(corev1ac.ContainerPort().WithName(portName).WithContainerPort(wire.Port).WithProtocol(corev1.ProtocolTCP)).
		WithResources(parts.ToApplyConfig[corev1ac.ResourceRequirementsApplyConfiguration](resources(r, c.defaults))).
		WithSecurityContext(parts.RestrictedContainer()).
		WithVolumeMounts(
			corev1ac.VolumeMount().WithName("files").WithMountPath(config.FilesDir).WithReadOnly(true),
			corev1ac.VolumeMount().WithName(dataVolume).WithMountPath(config.DataDir)).
		WithReadinessProbe(corev1ac.Probe().
			WithExec(execShell(probeClient(c.spec) + `ping | grep -q PONG`)).
			WithPeriodSeconds(3).WithTimeoutSeconds(3).WithFailureThreshold(3)).
		WithLifecycle(corev1ac.Lifecycle().WithPreStop(corev1ac.LifecycleHandler().WithExec(execShell(fmt.Sprintf(
			// A master that is asked to go serves on until another is master.
			`n=%d; while [ $n -gt 0 ] && [ "$(%srole | head -n 1)" = master ]; do sleep 0.2; n=$((n-1)); done`,
			max(0, stopGrace(r)-shutdownSeconds)*5, probeClient(c.spec))))))
}

// resources returns those of the spec. Where it names none, an empty server's are requested: how much memory one needs at most depends
// on its data, so a limit is the user's to set. maxmemory follows that limit.
func resources(r *cachev1alpha1.Redis, d parts.Defaults) corev1.ResourceRequirements {
	if d == parts.FormerDefaults {
		return r.Spec.Resources
	}
	return parts.FillResources(r.Spec.Resources, parts.Resources("20m", "32Mi", "", ""))
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

func chooseDefaults(redis *cachev1alpha1.Redis, c childInputs, live converge.Workload) parts.Defaults {
	return converge.ChooseDefaults(live, func(d parts.Defaults) *corev1ac.PodTemplateSpecApplyConfiguration {
		c.defaults = d
		return statefulSet(redis, c).Spec.Template
	})
}
