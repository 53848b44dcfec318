package backup

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// instead has a container that has ended end in another way.
func instead(container string, code int32, message string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		isIt := func(s corev1.ContainerStatus) bool { return s.Name == container }
		pod.Status.InitContainerStatuses = slices.DeleteFunc(pod.Status.InitContainerStatuses, isIt)
		pod.Status.ContainerStatuses = slices.DeleteFunc(pod.Status.ContainerStatuses, isIt)
		ended(container, code, message)(pod)
	}
}

// A run counts only if what was written is what a server was started from, and what is in the store at the end.
func TestTheContainersAgreeOnTheBackup(t *testing.T) {
	otherSum := strings.Repeat("0", 64)
	resum := func(i *commonv1.BackupItem) { i.SHA256 = otherSum }
	resize := func(i *commonv1.BackupItem) { i.Size++ }
	rename := func(i *commonv1.BackupItem) { i.Name = testItem }
	note := func(i *commonv1.BackupItem) { i.ServerVersion = "3.6.17" }
	reports := func(container string, code int32, result backup.Result) func(*corev1.Pod) {
		return instead(container, code, says(result))
	}
	for _, c := range []struct {
		reason     string
		unverified bool
		container  string
		change     func(*commonv1.BackupItem)
		pod        func(*corev1.Pod)
		silent     string
		replaced   string // the container that saw another one
	}{
		{reason: "all agree"},
		{reason: "all agree on a backup that is not verified", unverified: true},
		{reason: "fetch saw another sum", container: backup.CommandFetch, change: resum, replaced: backup.CommandFetch},
		{reason: "fetch saw another size", container: backup.CommandFetch, change: resize, replaced: backup.CommandFetch},
		{reason: "fetch saw another item", container: backup.CommandFetch, change: rename, replaced: backup.CommandFetch},
		{reason: "verify saw another sum", container: backup.CommandVerify, change: resum, replaced: backup.CommandVerify},
		{reason: "verify saw another size", container: backup.CommandVerify, change: resize, replaced: backup.CommandVerify},
		{reason: "finish saw another sum", container: mainContainer, change: resum, replaced: mainContainer},
		{reason: "finish saw another size", container: mainContainer, change: resize, replaced: mainContainer},
		{reason: "finish saw another sum of a backup that is not verified", unverified: true, container: mainContainer, change: resum,
			replaced: mainContainer},
		{reason: "the version of the server is no part of the data", container: mainContainer, change: note},
		{reason: "backup reports nothing", pod: instead(backup.CommandBackup, 0, ""), silent: backup.CommandBackup},
		{reason: "fetch reports nothing", pod: instead(backup.CommandFetch, 0, ""), silent: backup.CommandFetch},
		{reason: "verify reports nothing", pod: instead(backup.CommandVerify, 0, ""), silent: backup.CommandVerify},
		{reason: "fetch reports an item and an error",
			pod:    reports(backup.CommandFetch, 0, backup.Result{Item: itemNamed(running("1").Status.Run.Item, false), Error: "odd"}),
			silent: backup.CommandFetch},
		{reason: "fetch reports an item and fails",
			pod:    reports(backup.CommandFetch, 1, backup.Result{Item: itemNamed(running("1").Status.Run.Item, false)}),
			silent: backup.CommandFetch},
		{reason: "verify reports nothing and finish saw another sum", pod: instead(backup.CommandVerify, 0, ""), container: mainContainer,
			change: resum, replaced: mainContainer},
	} {
		t.Run(c.reason, func(t *testing.T) {
			b := running("1", func(b *databasev1alpha1.EtcdBackup) { b.Spec.Verify = ptr.To(!c.unverified) })
			pod := podOf(b, "1", allWell)
			if c.pod != nil {
				c.pod(pod)
			}
			if c.change != nil {
				item := itemNamed(b.Status.Run.Item, c.container == mainContainer || c.container == backup.CommandVerify)
				c.change(item)
				reports(c.container, 0, backup.Result{Item: item})(pod)
			}
			silent, replaced := agreement(pod)
			if silent != c.silent || (replaced != "") != (c.replaced != "") || c.replaced != "" &&
				!strings.Contains(replaced, "container "+c.replaced+" saw") {
				t.Errorf("silent %q, replaced %q", silent, replaced)
			}
			if got := judge(b.Status.Run, pod, ""); (got.failure == "") != (c.silent+c.replaced == "") {
				t.Errorf("%+v", got)
			}
		})
	}
}

// Each further attempt would run retention, and delete more of the backups before.
func TestAReplacedBackupIsNotTriedAgain(t *testing.T) {
	b := running("1")
	pod := podOf(b, "1", allWell)
	other := itemNamed(b.Status.Run.Item, true)
	other.SHA256 = strings.Repeat("0", 64)
	instead(mainContainer, 0, says(backup.Result{Item: other}))(pod)
	got := judge(b.Status.Run, pod, "")
	if !got.final || !got.permanent || !strings.Contains(got.failure, "was replaced in the store") {
		t.Errorf("%+v", got)
	}
	noteOutcome(b, got, testTime)
	if b.Status.Run.Phase != commonv1.BackupFailed || b.Status.LastVerified != nil {
		t.Errorf("%+v", b.Status)
	}
}
