package redis

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/node"
)

const (
	// kind is the value of app.kubernetes.io/name on all children.
	kind = "redis"
	// portName of Redis in pods and Services.
	portName = "redis"
	// uid of the redis user in the official image.
	uid = 999

	// labelRole on pods is what the replicas' Service selects by.
	labelRole = "mainstay-operator.io/role"
	// labelPod is set by the StatefulSet controller: the master's Service selects by it.
	labelPod = "statefulset.kubernetes.io/pod-name"
	// gateInSync keeps a pod unready until its data is there.
	gateInSync = corev1.PodConditionType("mainstay-operator.io/in-sync")
	// annotationConf rolls the pods when the configuration file changes.
	annotationConf = "mainstay-operator.io/config"

	graceSeconds = 30
	// reserveSeconds of the grace are for the server's own end after the handover.
	reserveSeconds = 12
)

// choice is what the children depend on beside the spec.
type choice struct {
	credentials credentials
	image       string
	volume      resource.Quantity // of new nodes: a StatefulSet cannot change it
}

// desired are all children. The route to the master comes first: after a
// failover clients wait for nothing else.
func desired(r *cachev1alpha1.Redis, c choice) []converge.Child {
	var children []converge.Child
	if r.Status.Master != "" {
		children = append(children, master(r))
	}
	// Passwords are kept before anything can start with them.
	children = append(children, system(r, c.credentials), files(r, c.credentials), binding(r, c.credentials),
		headless(r), replicas(r), nodes(r, c))
	if size(r) >= 2 {
		children = append(children, parts.Budget(kind, r.Name, r.Spec.Disruption, policyv1.IfHealthyBudget))
	}
	return children
}

func headlessName(r *cachev1alpha1.Redis) string { return r.Name + "-headless" }
func replicasName(r *cachev1alpha1.Redis) string { return r.Name + "-replicas" }
func filesName(r *cachev1alpha1.Redis) string    { return r.Name + "-files" }
func systemName(r *cachev1alpha1.Redis) string   { return r.Name + "-system" }
func bindingName(r *cachev1alpha1.Redis) string  { return r.Name + "-auth" }

// master points at one pod by name: changed in one write, never at two.
func master(r *cachev1alpha1.Redis) *corev1ac.ServiceApplyConfiguration {
	return service(r, r.Name, map[string]string{labelPod: r.Status.Master})
}

// replicas are for reading.
func replicas(r *cachev1alpha1.Redis) *corev1ac.ServiceApplyConfiguration {
	return service(r, replicasName(r), map[string]string{labelRole: roleReplica})
}

// headless names the nodes, ready or not.
func headless(r *cachev1alpha1.Redis) *corev1ac.ServiceApplyConfiguration {
	s := service(r, headlessName(r), nil)
	s.Spec.WithClusterIP(corev1.ClusterIPNone).WithPublishNotReadyAddresses(true)
	return s
}

func service(r *cachev1alpha1.Redis, name string, selector map[string]string) *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service(name, "").
		WithLabels(parts.Labels(kind, r.Name)).
		WithSpec(corev1ac.ServiceSpec().
			WithSelector(parts.Over(selector, parts.Selector(kind, r.Name))).
			WithPorts(corev1ac.ServicePort().
				WithName(portName).
				WithProtocol(corev1.ProtocolTCP).
				WithPort(node.Port).
				WithTargetPort(intstr.FromString(portName))))
}

// files are what the servers read. They hold a password, so they are a Secret.
func files(r *cachev1alpha1.Redis, c credentials) *corev1ac.SecretApplyConfiguration {
	return secret(r, filesName(r), corev1.SecretTypeOpaque, map[string]string{
		confKey: redisConf(r, c), usersKey: usersACL(c)})
}

// system holds the passwords that only the operator and the servers use.
func system(r *cachev1alpha1.Redis, c credentials) *corev1ac.SecretApplyConfiguration {
	return secret(r, systemName(r), corev1.SecretTypeOpaque, map[string]string{
		node.Operator: c.operator, replication: c.replication})
}

// binding is what an application needs, https://servicebinding.io/spec/core/1.1.0/#provisioned-service.
func binding(r *cachev1alpha1.Redis, c credentials) *corev1ac.SecretApplyConfiguration {
	host := fmt.Sprintf("%s.%s.svc", r.Name, r.Namespace)
	uri := url.URL{Scheme: "redis", Host: fmt.Sprintf("%s:%d", host, node.Port), User: url.UserPassword(application, c.application)}
	return secret(r, bindingName(r), corev1.SecretTypeBasicAuth, map[string]string{
		"type": "redis", "username": application, "password": c.application,
		"host": host, "port": strconv.Itoa(node.Port), "uri": uri.String()})
}

func secret(r *cachev1alpha1.Redis, name string, of corev1.SecretType, values map[string]string) *corev1ac.SecretApplyConfiguration {
	data := make(map[string][]byte, len(values))
	for key, value := range values {
		data[key] = []byte(value)
	}
	return corev1ac.Secret(name, "").WithLabels(parts.Labels(kind, r.Name)).WithType(of).WithData(data)
}

// nodes restart only when the plan says so: a master must hand over first.
func nodes(r *cachev1alpha1.Redis, c choice) *appsv1ac.StatefulSetApplyConfiguration {
	template := parts.Template(kind, r.Name, r.Spec.PodOptions).
		WithAnnotations(map[string]string{annotationConf: confHash(r)})
	template.Spec.
		WithTerminationGracePeriodSeconds(grace(r)).
		WithReadinessGates(corev1ac.PodReadinessGate().WithConditionType(gateInSync)).
		WithSecurityContext(parts.RestrictedPod(uid)).
		WithContainers(container(r, c.image)).
		WithVolumes(corev1ac.Volume().WithName("files").WithSecret(corev1ac.SecretVolumeSource().
			WithSecretName(filesName(r)).WithDefaultMode(0o440)))
	spec := appsv1ac.StatefulSetSpec().
		WithReplicas(pods(r)).
		WithServiceName(headlessName(r)).
		WithPodManagementPolicy(appsv1.ParallelPodManagement).
		WithUpdateStrategy(appsv1ac.StatefulSetUpdateStrategy().WithType(appsv1.OnDeleteStatefulSetStrategyType)).
		WithSelector(parts.Select(kind, r.Name)).
		WithTemplate(template)
	if r.Spec.Storage == nil {
		template.Spec.WithVolumes(corev1ac.Volume().WithName("data").WithEmptyDir(corev1ac.EmptyDirVolumeSource()))
	} else {
		spec.WithVolumeClaimTemplates(claim(r, c.volume)).WithPersistentVolumeClaimRetentionPolicy(retention(r.Spec.Storage))
	}
	return appsv1ac.StatefulSet(r.Name, "").WithLabels(parts.Labels(kind, r.Name)).WithSpec(spec)
}

// pods is the size, and more while a node beyond it still holds what others may not.
func pods(r *cachev1alpha1.Redis) int32 {
	count := size(r)
	if rep := r.Status.Replication; rep != nil {
		count = max(count, ordinal(rep.Master.Name)+1)
		for _, member := range rep.SyncSet {
			count = max(count, ordinal(member.Name)+1)
		}
	}
	return count
}

func ordinal(pod string) int32 {
	n, _ := strconv.ParseInt(pod[strings.LastIndexByte(pod, '-')+1:], 10, 32)
	return int32(n)
}

func grace(r *cachev1alpha1.Redis) int64 {
	return ptr.Deref(r.Spec.TerminationGracePeriodSeconds, graceSeconds)
}

func container(r *cachev1alpha1.Redis, image string) *corev1ac.ContainerApplyConfiguration {
	return parts.Container(kind, image, r.Spec.PodOptions).
		WithCommand("redis-server", filesDir+"/"+confKey).
		WithWorkingDir(dataDir).
		WithPorts(corev1ac.ContainerPort().WithName(portName).WithContainerPort(node.Port).WithProtocol(corev1.ProtocolTCP)).
		WithResources(parts.As[corev1ac.ResourceRequirementsApplyConfiguration](r.Spec.Resources)).
		WithSecurityContext(parts.RestrictedContainer()).
		WithVolumeMounts(
			corev1ac.VolumeMount().WithName("files").WithMountPath(filesDir).WithReadOnly(true),
			corev1ac.VolumeMount().WithName("data").WithMountPath(dataDir)).
		WithReadinessProbe(corev1ac.Probe().
			WithExec(shell(asProbe + `ping | grep -q PONG`)).
			WithPeriodSeconds(3).WithTimeoutSeconds(3).WithFailureThreshold(3)).
		WithLifecycle(corev1ac.Lifecycle().WithPreStop(corev1ac.LifecycleHandler().WithExec(shell(fmt.Sprintf(
			// A master that is asked to go serves on until another has taken over.
			`n=%d; while [ $n -gt 0 ] && [ "$(%srole | head -n 1)" = master ]; do sleep 0.2; n=$((n-1)); done`,
			max(0, grace(r)-reserveSeconds)*5, asProbe)))))
}

// asProbe logs in as the user that has no password and may only ask.
const asProbe = `timeout 2 redis-cli --no-auth-warning --user ` + node.Probe + ` --pass - `

func shell(line string) *corev1ac.ExecActionApplyConfiguration {
	return corev1ac.ExecAction().WithCommand("sh", "-c", line)
}

func claim(r *cachev1alpha1.Redis, volume resource.Quantity) *corev1ac.PersistentVolumeClaimApplyConfiguration {
	spec := corev1ac.PersistentVolumeClaimSpec().
		WithAccessModes(corev1.ReadWriteOnce).
		WithResources(corev1ac.VolumeResourceRequirements().WithRequests(corev1.ResourceList{corev1.ResourceStorage: volume}))
	if class := r.Spec.Storage.StorageClassName; class != nil {
		spec.WithStorageClassName(*class)
	}
	claim := corev1ac.PersistentVolumeClaim("data", "").WithLabels(parts.Selector(kind, r.Name)).WithSpec(spec)
	claim.APIVersion, claim.Kind = nil, nil // the server does not keep them within another object
	return claim
}

func retention(s *cachev1alpha1.RedisStorage) *appsv1ac.StatefulSetPersistentVolumeClaimRetentionPolicyApplyConfiguration {
	policy := appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	if s.Retention == cachev1alpha1.RedisDelete {
		policy = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	}
	return appsv1ac.StatefulSetPersistentVolumeClaimRetentionPolicy().WithWhenDeleted(policy).WithWhenScaled(policy)
}

// names of the pods that the size asks for, by ordinal.
func names(r *cachev1alpha1.Redis) []string {
	list := make([]string, 0, size(r))
	for n := range size(r) {
		list = append(list, fmt.Sprintf("%s-%d", r.Name, n))
	}
	return slices.Clip(list)
}
