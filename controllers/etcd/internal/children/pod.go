package children

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/launcher"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/launcher/wal"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/untrusted"
)

// ReadPod is what the plan needs to know of a pod of a StatefulSet.
func ReadPod(pod *corev1.Pod, set *appsv1.StatefulSet) membership.Pod {
	p := membership.Pod{
		UID: pod.UID, Address: pod.Status.PodIP, Permit: pod.Annotations[config.AnnotationPermit], Deleting: !pod.DeletionTimestamp.IsZero(),
		Outdated: converge.IsOutdated(pod, set), Quota: config.RunningQuota(pod.Spec.Containers),
		Ready: slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}),
	}
	p.Fails = conditions.FirstFailure([]corev1.Pod{*pod}) != ""
	p.Image = imageOf(pod, set)
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name != config.AppName {
			continue
		}
		p.Stopped = c.State.Running == nil
		p.HasRun, p.Container = config.HasRun(c), c.ContainerID
		// The kubelet starts it again and again: until a server has started in it, its last end counts.
		ended := cmp.Or(c.State.Terminated, c.LastTerminationState.Terminated)
		if ended != nil && !ptr.Deref(c.Started, false) && ended.ExitCode == launcher.ExitDataLost {
			p.LostData, _ = strings.CutPrefix(ended.Message, launcher.DataLost)
		}
		if ended != nil && !ptr.Deref(c.Started, false) && ended.ExitCode == launcher.ExitEarlierState {
			p.LostData, p.Earlier = earlierState(ended.Message)
		}
		p.Unusable = refusal(c, ended, launcher.ExitUnusable, launcher.Unusable)
		p.Foreign = refusal(c, ended, launcher.ExitForeign, launcher.Foreign)
		p.RecoveredTo = recoveredTo(c, ended)
	}
	return p
}

// earlierState is the data directory that a launcher has refused as an earlier state, and where its log ends; none if the message has
// neither.
func earlierState(message string) (string, *wal.End) {
	data, end, ok := launcher.ParseEarlierState(message)
	if !ok {
		return "", nil
	}
	return data, &end
}

// imageOf is the image that a pod was made with. A webhook may have put that of a mirror in its place: then the template that the pod is
// of has the name that the operator gave.
func imageOf(pod *corev1.Pod, set *appsv1.StatefulSet) string {
	image := parts.RunningImage(pod.Spec.Containers, config.AppName, "")
	if converge.IsOfLatest(pod, set) {
		return parts.RunningImage(set.Spec.Template.Spec.Containers, config.AppName, image)
	}
	return image
}

// refusal is what a launcher that has ended with that exit code has said after that prefix, until a server has started.
func refusal(c corev1.ContainerStatus, ended *corev1.ContainerStateTerminated, code int32, prefix string) string {
	if ended == nil || ptr.Deref(c.Started, false) || ended.ExitCode != code {
		return ""
	}
	return cmp.Or(untrusted.Sanitize(strings.TrimPrefix(ended.Message, prefix)), "the launcher gives no details")
}

// recoveredTo is the revision at which a recovery has ended below the one that was allowed; 0 if it has not.
func recoveredTo(c corev1.ContainerStatus, ended *corev1.ContainerStateTerminated) int64 {
	if ended == nil || ptr.Deref(c.Started, false) || ended.ExitCode != launcher.ExitBelowAllowed {
		return 0
	}
	revision, err := strconv.ParseInt(strings.TrimPrefix(ended.Message, launcher.BelowAllowed), 10, 64)
	if err != nil {
		return 0 // the message has no revision
	}
	return revision
}
