package activity

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/once"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

const (
	// appName is the value of app.kubernetes.io/name on the pods, and the name of their container.
	appName = "activity"
	// finalizer keeps a pod until its result is written down.
	finalizer = "mainstay-operator.io/activity"
	// annotationStartMark holds the ID of the command's container, on a pod whose command was seen to run.
	annotationStartMark = "mainstay-operator.io/started"

	// defaultUID is the uid under security Restricted: the "nonroot" of distroless images.
	defaultUID = 65532
	// overflowUID is the overflow uid of Linux, and the user nobody of most images.
	overflowUID = 65534
)

// podName returns the name of an attempt's pod. The UID keeps the pods of a deleted
// Activity apart from those of its namesake.
func podName(a *egov1.Activity, number int32) string {
	return fmt.Sprintf("%s-%.6s-%d", a.Name, a.UID, number)
}

// desiredPod returns the pod of one attempt, as it is created: gated, and held by our finalizer.
func desiredPod(a *egov1.Activity, attempt egov1.Attempt) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:            attempt.PodName,
			Namespace:       a.Namespace,
			Labels:          parts.Merge(a.Spec.PodLabels, parts.Labels(appName, a.Name)),
			Annotations:     withoutStartMark(a.Spec.PodAnnotations),
			Finalizers:      []string{finalizer},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(a, egov1.GroupVersion.WithKind("Activity"))},
		},
	}
	spec := parts.PodSpec(appName, a.Name, a.Spec.PodOptions).
		WithSchedulingGates(corev1ac.PodSchedulingGate().WithName(once.Gate)).
		WithRestartPolicy(corev1.RestartPolicyNever).
		WithSecurityContext(podSecurity(a)).
		WithInitContainers(guardInstaller(a, attempt)...).
		WithContainers(container(a, attempt)).
		WithVolumes(volumes(a)...)
	if a.Spec.Timeout != nil {
		spec.WithActiveDeadlineSeconds(int64(a.Spec.Timeout.Seconds()))
	}
	if a.Spec.Host != "" {
		spec.WithAffinity(parts.ToApplyConfig[corev1ac.AffinityApplyConfiguration](pinToNode(a.Spec.Affinity, a.Spec.Host)))
	}
	pod.Spec = *parts.ToApplyConfig[corev1.PodSpec](spec)
	return pod
}

func restricted(a *egov1.Activity) bool { return a.Spec.Security != commonv1.SecurityBaseline }

func container(a *egov1.Activity, attempt egov1.Attempt) *corev1ac.ContainerApplyConfiguration {
	c := parts.WithResources(parts.Container(appName, a.Status.Image, a.Spec.PodOptions),
		parts.FillResources(a.Spec.Resources, defaultRequests)).
		WithCommand(guardCommand(attempt)...).
		WithArgs(userCommand(a)...).
		WithSecurityContext(containerSecurity(a)).
		WithEnvFrom(parts.ToApplyConfigs[corev1ac.EnvFromSourceApplyConfiguration](a.Spec.EnvFrom)...).
		WithVolumeMounts(volumeMounts(a)...)
	if cwd := cmp.Or(a.Spec.ExecCwd, workspacePath(a)); cwd != "" {
		c.WithWorkingDir(cwd)
	}
	for _, env := range a.Spec.Envs {
		name, value, _ := strings.Cut(env, "=")
		c.WithEnv(corev1ac.EnvVar().WithName(name).WithValue(escapeDollars(value)))
	}
	return c.WithEnv(guardEnv(a, attempt)...)
}

// defaultRequests are for a command whose Activity names no resources. How much one takes is not known, so nothing limits it.
var defaultRequests = parts.Resources("10m", "16Mi", "", "")

// addLimits gives the command those limits that its Activity does not name: a quota of its namespace asks for them.
func addLimits(pod *corev1.Pod) {
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		c.Resources = parts.FillResources(c.Resources, parts.Resources("", "", "1", "512Mi"))
	}
}

// containerSecurity returns a security context that meets spec.security.
func containerSecurity(a *egov1.Activity) *corev1ac.SecurityContextApplyConfiguration {
	if restricted(a) {
		return parts.RestrictedContainer()
	}
	return parts.BaselineContainer()
}

// podSecurity returns one that meets spec.security and runs as spec.execuser, who owns the workspace.
func podSecurity(a *egov1.Activity) *corev1ac.PodSecurityContextApplyConfiguration {
	uid, gid, chosen := parseUser(cmp.Or(a.Status.ExecUser, a.Spec.ExecUser))
	switch {
	case restricted(a) && !chosen:
		return parts.RestrictedPod(defaultUID)
	case restricted(a):
		return parts.RestrictedPod(uid).WithRunAsGroup(gid).WithFSGroup(gid)
	case chosen && workspacePath(a) != "":
		return parts.BaselinePod().WithRunAsUser(uid).WithRunAsGroup(gid).
			WithFSGroup(gid).WithFSGroupChangePolicy(corev1.FSGroupChangeOnRootMismatch)
	case chosen:
		return parts.BaselinePod().WithRunAsUser(uid).WithRunAsGroup(gid)
	}
	return parts.BaselinePod()
}

// pinToNode adds the node's name to each of the user's node selector terms: they are or-ed,
// so a term of our own would admit other nodes. It matches the name rather than set
// spec.nodeName, so that the node's taints and capacity still count.
func pinToNode(userAffinity *corev1.Affinity, host string) *corev1.Affinity {
	affinity := userAffinity.DeepCopy()
	if affinity == nil {
		affinity = &corev1.Affinity{}
	}
	if affinity.NodeAffinity == nil {
		affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	required := &affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if *required == nil {
		*required = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}}}
	}
	byName := corev1.NodeSelectorRequirement{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{host}}
	for i := range (*required).NodeSelectorTerms {
		term := &(*required).NodeSelectorTerms[i]
		term.MatchFields = append(term.MatchFields, byName)
	}
	return affinity
}
