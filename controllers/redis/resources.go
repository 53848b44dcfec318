package redis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

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
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

const (
	// appName is the value of app.kubernetes.io/name on all children.
	appName = "redis"
	// portName names the port of Redis in pods and Services.
	portName = "redis"
	// redisUID is the UID of the redis and valkey users in the official images.
	redisUID = 999

	// labelRole on pods is what the replicas' Service selects by.
	labelRole = "mainstay-operator.io/role"
	// labelPod is set by the StatefulSet controller: the master's Service selects by it.
	labelPod = "statefulset.kubernetes.io/pod-name"
	// gateInSync keeps a pod unready until its data is there.
	gateInSync = corev1.PodConditionType("mainstay-operator.io/in-sync")
	// dataVolume is where a node keeps its data.
	dataVolume = "data"
	// annotationConfig rolls the pods when settings change that take effect only at a start.
	annotationConfig = "mainstay-operator.io/config"
	// annotationRestart is what kubectl rollout restart writes.
	annotationRestart = "kubectl.kubernetes.io/restartedAt"

	defaultGraceSeconds = 30
	// shutdownSeconds is the part of the grace that is for the server's own end after the switchover.
	shutdownSeconds = 12
)

// childInputs is what the children depend on beside the spec.
type childInputs struct {
	credentials       credentials
	settings          settings
	image             string
	volumeSize        resource.Quantity // of new nodes: a StatefulSet cannot change it
	replicas          int32
	identity          identity // of the servers, with TLS
	restartedAt       string   // when a human asked for new pods, to be kept as they wrote it
	operatorNamespace string   // namespace of the manager; empty where it runs in no pod
}

// desiredChildren are all children. The route to the master comes first, as it is all that clients wait for
// after a failover.
func desiredChildren(r *cachev1alpha1.Redis, c childInputs) []converge.Child {
	var children []converge.Child
	if r.Status.Master != "" {
		children = append(children, masterService(r))
	}
	// Passwords and certificates are kept before anything can start with them.
	if r.Spec.TLS != nil {
		children = append(children, certificatesSecret(r, c.identity))
	}
	children = append(children, systemSecret(r, c.credentials), filesSecret(r, c))
	if c.credentials.published.password != "" {
		children = append(children, bindingSecret(r, c))
	}
	children = append(children, headlessService(r), replicasService(r), statefulSet(r, c))
	if size(r) >= 2 {
		children = append(children, parts.DisruptionBudget(appName, r.Name, r.Spec.Disruption, policyv1.IfHealthyBudget))
	}
	if r.Spec.NetworkPolicy != nil {
		children = append(children, networkPolicy(r, c.operatorNamespace))
	}
	return children
}

func headlessName(r *cachev1alpha1.Redis) string { return r.Name + "-headless" }
func replicasName(r *cachev1alpha1.Redis) string { return r.Name + "-replicas" }
func filesName(r *cachev1alpha1.Redis) string    { return r.Name + "-files" }
func systemName(r *cachev1alpha1.Redis) string   { return r.Name + "-system" }
func bindingName(r *cachev1alpha1.Redis) string  { return r.Name + "-auth" }

// statefulSet leaves it to the plan when pods restart (OnDelete): a master must be switched over first.
func statefulSet(r *cachev1alpha1.Redis, c childInputs) *appsv1ac.StatefulSetApplyConfiguration {
	template := parts.PodTemplate(appName, r.Name, r.Spec.PodOptions).
		WithAnnotations(map[string]string{annotationConfig: restartMark(r, c.settings)})
	if c.restartedAt != "" {
		template.WithAnnotations(map[string]string{annotationRestart: c.restartedAt})
	}
	template.Spec.
		WithTerminationGracePeriodSeconds(stopGrace(r)).
		WithReadinessGates(corev1ac.PodReadinessGate().WithConditionType(gateInSync)).
		WithSecurityContext(parts.RestrictedPod(redisUID)).
		WithContainers(container(r, c.image)).
		WithVolumes(corev1ac.Volume().WithName("files").WithSecret(corev1ac.SecretVolumeSource().
			WithSecretName(filesName(r)).WithDefaultMode(0o440).WithItems(keyToPath(confKey), keyToPath(usersKey))))
	spec := appsv1ac.StatefulSetSpec().
		WithReplicas(c.replicas).
		WithServiceName(headlessName(r)).
		WithPodManagementPolicy(appsv1.ParallelPodManagement).
		WithUpdateStrategy(appsv1ac.StatefulSetUpdateStrategy().WithType(appsv1.OnDeleteStatefulSetStrategyType)).
		WithSelector(parts.LabelSelector(appName, r.Name)).
		WithTemplate(template)
	if r.Spec.TLS != nil {
		addTLSVolumes(r, template.Spec)
	}
	if r.Spec.Storage == nil {
		template.Spec.WithVolumes(corev1ac.Volume().WithName(dataVolume).WithEmptyDir(corev1ac.EmptyDirVolumeSource()))
	} else {
		spec.WithVolumeClaimTemplates(claimTemplate(r, c.volumeSize)).WithPersistentVolumeClaimRetentionPolicy(retentionPolicy(r))
	}
	return appsv1ac.StatefulSet(r.Name, "").WithLabels(parts.Labels(appName, r.Name)).WithSpec(spec)
}

func keyToPath(key string) *corev1ac.KeyToPathApplyConfiguration {
	return corev1ac.KeyToPath().WithKey(key).WithPath(key)
}

// desiredPods is how many there must be: the size, and more while a node beyond it still holds what others may not.
func desiredPods(r *cachev1alpha1.Redis, w world) int32 {
	if isHibernated(r) {
		return 0
	}
	holders := w.newestVolumes() // of a set that was, until there is a master again
	if rep := r.Status.Replication; rep != nil {
		holders = []string{rep.Master.Name}
		for _, member := range rep.SyncSet {
			holders = append(holders, member.Name)
		}
	}
	count := size(r)
	for _, name := range holders {
		count = max(count, ordinal(name)+1)
	}
	return count
}

func ordinal(pod string) int32 {
	n, _ := strconv.ParseInt(pod[strings.LastIndexByte(pod, '-')+1:], 10, 32)
	return int32(n)
}

// isNode reports whether that is the name of a pod of the StatefulSet.
func isNode(r *cachev1alpha1.Redis, pod string) bool {
	return ordinal(pod) < maxSize && pod == nodeName(r, ordinal(pod))
}

func stopGrace(r *cachev1alpha1.Redis) int64 {
	return ptr.Deref(r.Spec.TerminationGracePeriodSeconds, defaultGraceSeconds)
}

func container(r *cachev1alpha1.Redis, image string) *corev1ac.ContainerApplyConfiguration {
	return parts.Container(appName, image, r.Spec.PodOptions).
		WithCommand(serverProgram(r), filesDir+"/"+confKey).
		WithWorkingDir(dataDir).
		WithPorts(corev1ac.ContainerPort().WithName(portName).WithContainerPort(wire.Port).WithProtocol(corev1.ProtocolTCP)).
		WithResources(parts.ToApplyConfig[corev1ac.ResourceRequirementsApplyConfiguration](r.Spec.Resources)).
		WithSecurityContext(parts.RestrictedContainer()).
		WithVolumeMounts(
			corev1ac.VolumeMount().WithName("files").WithMountPath(filesDir).WithReadOnly(true),
			corev1ac.VolumeMount().WithName(dataVolume).WithMountPath(dataDir)).
		WithReadinessProbe(corev1ac.Probe().
			WithExec(execShell(probeClient(r) + `ping | grep -q PONG`)).
			WithPeriodSeconds(3).WithTimeoutSeconds(3).WithFailureThreshold(3)).
		WithLifecycle(corev1ac.Lifecycle().WithPreStop(corev1ac.LifecycleHandler().WithExec(execShell(fmt.Sprintf(
			// A master that is asked to go serves on until another has taken over.
			`n=%d; while [ $n -gt 0 ] && [ "$(%srole | head -n 1)" = master ]; do sleep 0.2; n=$((n-1)); done`,
			max(0, stopGrace(r)-shutdownSeconds)*5, probeClient(r))))))
}

// probeClient is the command of a client that logs in as the user that has no password and may only ask.
func probeClient(r *cachev1alpha1.Redis) string {
	program := "timeout 2 " + clientProgram(r)
	if r.Spec.TLS != nil {
		program += " -s " + socketPath
	}
	return program + " --no-auth-warning --user " + wire.Probe + " --pass - "
}

func execShell(line string) *corev1ac.ExecActionApplyConfiguration {
	return corev1ac.ExecAction().WithCommand("sh", "-c", line)
}

func claimTemplate(r *cachev1alpha1.Redis, volume resource.Quantity) *corev1ac.PersistentVolumeClaimApplyConfiguration {
	spec := corev1ac.PersistentVolumeClaimSpec().
		WithAccessModes(corev1.ReadWriteOnce).
		WithResources(corev1ac.VolumeResourceRequirements().WithRequests(corev1.ResourceList{corev1.ResourceStorage: volume}))
	if class := r.Spec.Storage.StorageClassName; class != nil {
		spec.WithStorageClassName(*class)
	}
	claim := corev1ac.PersistentVolumeClaim(dataVolume, "").WithLabels(parts.Labels(appName, r.Name)).WithSpec(spec)
	claim.APIVersion, claim.Kind = nil, nil // the server does not keep them within another object
	return claim
}

// retentionPolicy tells what becomes of volumes that no node needs. A hibernated set needs all of them.
func retentionPolicy(r *cachev1alpha1.Redis) *appsv1ac.StatefulSetPersistentVolumeClaimRetentionPolicyApplyConfiguration {
	deleted := appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	if r.Spec.Storage.Retention == cachev1alpha1.RedisDelete {
		deleted = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	}
	scaled := deleted
	if r.Spec.Hibernate {
		scaled = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	}
	return appsv1ac.StatefulSetPersistentVolumeClaimRetentionPolicy().WithWhenDeleted(deleted).WithWhenScaled(scaled)
}

// wantedNodes are the names of the pods that the size asks for, by ordinal.
func wantedNodes(r *cachev1alpha1.Redis) []string {
	list := make([]string, 0, size(r))
	for n := range size(r) {
		list = append(list, nodeName(r, n))
	}
	return slices.Clip(list)
}

func nodeName(r *cachev1alpha1.Redis, ordinal int32) string {
	return fmt.Sprintf("%s-%d", r.Name, ordinal)
}
