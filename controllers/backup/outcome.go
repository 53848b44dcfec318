package backup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/once"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/untrusted"
)

// reasonStatusUnknown is the kubelet's reason for a container that it has lost sight of.
const reasonStatusUnknown = "ContainerStatusUnknown"

// reasonEvicted is the kubelet's reason for a pod that it has evicted.
const reasonEvicted = "Evicted"

// outcome is how an attempt ended.
type outcome struct {
	// failure says why it failed, in the words of the store, the server or the kubelet; empty if it did not.
	failure string
	// permanent: another attempt would fail in the same way, until a human changes something.
	permanent bool
	// final: no further attempt is made. Each would delete more of the older backups.
	final bool
	// cleared: what earlier attempts have left is deleted.
	cleared bool
	// rawSize of the data before its compression, in bytes; 0 where it is not known.
	rawSize int64
	// item that was written, where the attempt succeeded.
	item commonv1.BackupItem
	// items are the newest in the store, where the attempt succeeded.
	items []commonv1.BackupItem
	// warning says what could not be deleted.
	warning string
	// notCompared says why no other member of an etcd was compared; membersDiffer says which have other data than most.
	notCompared, membersDiffer string
	// held says why retention deleted no backup.
	held string
}

// judge says how the current attempt ended. pod is its pod as the API server has it now, or nil when that is gone or was never made;
// notReady says why the source cannot be read now; it is empty if it can.
func judge(run *commonv1.BackupRun, pod *corev1.Pod, notReady string) outcome {
	switch {
	case run.PodUID == "":
		return outcome{failure: "its pod could not be created in time" + because(cmp.Or(notReady, run.Message))}
	case (pod == nil || pod.UID != run.PodUID) && run.Stopped:
		return outcome{failure: run.Message}
	case pod == nil || pod.UID != run.PodUID:
		return outcome{failure: fmt.Sprintf("pod %s is gone: it was deleted, or its node was lost, before its outcome was read", run.PodName)}
	}
	o := outcome{}
	written, wrote := resultOf(pod, backup.CommandBackup)
	o.rawSize = written.RawSize
	o.notCompared, o.membersDiffer = written.NotCompared, written.MembersDiffer
	if wrote && written.Error == "" && endedWell(pod, backup.CommandBackup) {
		o.cleared, o.warning = written.Warning == "", written.Warning
	}
	if endedWell(pod, mainContainer) {
		return o.readFinish(run, pod)
	}
	o.failure, o.permanent = failureOf(run, pod)
	if exceededOwnStorage(pod) { // each retry could fill another node's disk
		o.failure += ": raise limits.ephemeral-storage in spec.resources, or find out what else wrote to the pod's disk"
		o.permanent, o.final = true, true
	}
	return o
}

// readFinish reads what the last container says, of an attempt in which all have ended well.
func (o outcome) readFinish(run *commonv1.BackupRun, pod *corev1.Pod) outcome {
	finished, ok := resultOf(pod, mainContainer)
	switch {
	case !ok || finished.Error != "" || finished.Item == nil || finished.Item.Name != run.Item:
		o.failure = "the runner succeeded but did not report the backup: check that the operator's image is that of its release" +
			because(finished.Error)
		return o
	case startsServer(pod) && (!finished.Item.Verified || !hasVerified(run, pod)):
		o.failure = "the runner succeeded but did not report the backup as verified: check that the operator's image is that of its release"
		return o
	}
	switch silent, replaced := agreement(pod); {
	case replaced != "":
		o.failure = fmt.Sprintf("the backup %s was replaced in the store while it was made: %s. Delete it from the store, and find out who may "+
			"overwrite objects there", run.Item, replaced)
		o.permanent, o.final = true, true
		return o
	case silent != "":
		o.failure = "container " + silent + " succeeded but did not report the backup: check that the operator's image is that of its release"
		return o
	}
	o.item, o.warning, o.held = *finished.Item, cmp.Or(finished.Warning, o.warning), finished.Held
	o.items = backup.FitItems(append([]commonv1.BackupItem{o.item}, finished.Items...))
	return o
}

// exceededOwnStorage reports whether the kubelet has evicted the pod because it used more of the node's disk than its own limits
// allow. The words are the kubelet's (pkg/kubelet/eviction/helpers.go). A pod that was evicted because others have filled the disk may run
// elsewhere.
func exceededOwnStorage(pod *corev1.Pod) bool {
	return pod.Status.Reason == reasonEvicted && slices.ContainsFunc([]string{"Usage of EmptyDir volume ",
		"Pod ephemeral local storage usage exceeds ", " exceeded its local ephemeral storage limit "},
		func(words string) bool { return strings.Contains(pod.Status.Message, words) })
}

// failureOf says why the attempt failed: in the words of the kubelet, or of the first container that did.
func failureOf(run *commonv1.BackupRun, pod *corev1.Pod) (why string, permanent bool) {
	if pod.Status.Reason != "" { // Evicted, Terminated, DeadlineExceeded
		return untrusted.Sanitize(pod.Status.Reason + ": " + cmp.Or(pod.Status.Message, "the pod was ended")), false
	}
	container, ended := firstFailed(pod)
	if ended != nil {
		if result, ok := backup.ReadResult(ended.Message); ok && result.Error != "" {
			return container + ": " + result.Error, result.Permanent
		}
	}
	switch deleted := !pod.DeletionTimestamp.IsZero(); {
	case deleted && !hasStarted(pod) && run.Stopped:
		return run.Message, false
	case deleted && !hasStarted(pod):
		return "the pod was deleted before it ran", false
	case deleted && !hasEnded(pod):
		return "the pod was deleted, and its node has not confirmed that it stopped: the attempt counts as failed", false
	case deleted:
		return "the pod was deleted while it ran", false
	case ended == nil || ended.Reason == reasonStatusUnknown:
		return "the pod ended, and the kubelet does not know how", false
	}
	return fmt.Sprintf("%s: exit code %d (%s): %s", container, ended.ExitCode, untrusted.Sanitize(ended.Reason),
		cmp.Or(untrusted.Sanitize(ended.Message), "no message")), false
}

// firstFailed returns the first of the runner's containers that has failed, and how; nil where none has.
func firstFailed(pod *corev1.Pod) (string, *corev1.ContainerStateTerminated) {
	for _, c := range [...]string{backup.CommandInstall, backup.CommandBackup, backup.CommandFetch, backup.CommandVerify, mainContainer} {
		status, _ := findStatus(containerStatuses(pod), c)
		if ended := status.State.Terminated; ended != nil && ended.ExitCode != 0 {
			return c, ended
		}
	}
	return "", nil
}

// lateMessage says why an attempt had not started in time, in the words of the scheduler or the kubelet.
func lateMessage(o *commonv1.BackupOptions, pod *corev1.Pod) string {
	list := []corev1.Pod{*pod}
	why := cmp.Or(conditions.FirstFailure(list), conditions.FirstStartupWait(list))
	if o.Suspend && once.IsGated(pod) {
		why = suspendedMessage
	}
	return tooLate(o, why)
}

func resultOf(pod *corev1.Pod, container string) (backup.Result, bool) {
	status, _ := findStatus(containerStatuses(pod), container)
	if status.State.Terminated == nil {
		return backup.Result{}, false
	}
	return backup.ReadResult(status.State.Terminated.Message)
}

func endedWell(pod *corev1.Pod, container string) bool {
	status, _ := findStatus(containerStatuses(pod), container)
	return status.State.Terminated != nil && status.State.Terminated.ExitCode == 0
}

// hasVerified reports whether verify itself says that a server was started from the backup. finish has it from the order of the
// containers alone.
func hasVerified(run *commonv1.BackupRun, pod *corev1.Pod) bool {
	verified, ok := resultOf(pod, backup.CommandVerify)
	return ok && endedWell(pod, backup.CommandVerify) && verified.Error == "" &&
		verified.Item != nil && verified.Item.Verified && verified.Item.Name == run.Item
}

// startsServer reports whether a server is started from the backup in this pod.
func startsServer(pod *corev1.Pod) bool {
	for _, c := range pod.Spec.InitContainers {
		if c.Name == backup.CommandVerify {
			return true
		}
	}
	return false
}

func containerStatuses(pod *corev1.Pod) []corev1.ContainerStatus {
	return slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
}

func findStatus(list []corev1.ContainerStatus, container string) (corev1.ContainerStatus, bool) {
	for _, s := range list {
		if s.Name == container {
			return s, true
		}
	}
	return corev1.ContainerStatus{}, false
}
