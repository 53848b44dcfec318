package backup

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// A pod may not fill its node's disk: its volumes there are bounded, and the scheduler looks for the room that the data took last.
func TestAPodsRoomOnItsNode(t *testing.T) {
	const gib = 1 << 30
	for name, c := range map[string]struct {
		kind    Kind
		rawSize int64
		limit   string // of the user
		want    string // size limit in MiB, limit of the runner in MiB, request in MiB
	}{
		"the first backup":               {kind: Etcd(), want: "20480 20480 128"},
		"an etcd is restored next to it": {kind: Etcd(), rawSize: 8 * gib, want: "33184 33184 20740"},
		"a Redis only reads its dump":    {kind: Redis(), rawSize: 8 * gib, want: "16416 16416 10260"},
		"little data":                    {kind: Redis(), rawSize: 1, want: "1024 1024 128"},
		"its user has given a limit":     {kind: Etcd(), rawSize: 8 * gib, limit: "5Gi", want: "4992 4992 0"},
	} {
		t.Run(name, func(t *testing.T) {
			b := running("", func(b *databasev1alpha1.EtcdBackup) {
				b.Status.Run.RawSize = c.rawSize
				if c.limit != "" {
					b.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceEphemeralStorage: resource.MustParse(c.limit)}
				}
			})
			from := testSource
			from.resources.Limits = corev1.ResourceList{corev1.ResourceEphemeralStorage: resource.MustParse("1Mi")} // of a server
			pod := desiredPod(b, c.kind, from).Spec
			var sizeLimit int64
			for _, v := range pod.Volumes {
				if v.EmptyDir != nil && v.EmptyDir.SizeLimit == nil {
					t.Errorf("volume %s has no limit", v.Name)
				}
				if v.Name == "scratch" {
					sizeLimit = v.EmptyDir.SizeLimit.Value()
				}
			}
			request := pod.Containers[0].Resources.Requests.StorageEphemeral().Value()
			for _, container := range append(pod.InitContainers, pod.Containers...) {
				if got := container.Resources.Limits.StorageEphemeral().String(); got != "0" && got != c.limit {
					t.Errorf("%s has the limit %s", container.Name, got)
				}
			}
			got := fmt.Sprint(sizeLimit>>20, taskOf(t, pod.Containers[0]).Scratch.Limit>>20, request>>20)
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// What an attempt has read is known to the next one, also if it failed: after one for which there was no room, the next has more.
func TestTheNextAttemptHasMoreRoom(t *testing.T) {
	b := running("1")
	pod := podOf(b, "1", func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed },
		ended(backup.CommandBackup, 1, says(backup.Result{Error: "no room", RawSize: 21 << 30})))
	noteOutcome(b, judge(b.Status.Run, pod, ""), testTime)
	if b.Status.Run.Phase != commonv1.BackupRetrying || b.Status.Run.Permanent {
		t.Fatalf("%+v", b.Status.Run)
	}
	b.Status.Run = nextAttempt(b, testTime, 2, testTime, "operator:1")
	if limit := scratchOf(b, backup.Redis).Limit; limit < 42<<30 {
		t.Errorf("the next attempt may have %d GiB", limit>>30)
	}
}

// A pod that was evicted for what it wrote is not followed by one that does the same on another node.
func TestAnEvictionByItsOwnLimitIsTheLastAttempt(t *testing.T) {
	for message, last := range map[string]bool{
		`Usage of EmptyDir volume "scratch" exceeds the limit "20Gi". `:                         true,
		"Pod ephemeral local storage usage exceeds the total limit of containers 5Gi. ":         true,
		`Container verify exceeded its local ephemeral storage limit "5Gi". `:                   true,
		"The node was low on resource: ephemeral-storage. Threshold quantity: 1, available: 0.": false,
	} {
		t.Run(message, func(t *testing.T) {
			b := running("1")
			pod := podOf(b, "1", func(pod *corev1.Pod) {
				pod.Status.Phase, pod.Status.Reason, pod.Status.Message = corev1.PodFailed, "Evicted", message
			})
			noteOutcome(b, judge(b.Status.Run, pod, ""), testTime)
			want := commonv1.BackupRetrying
			if last {
				want = commonv1.BackupFailed
			}
			if run := b.Status.Run; run.Phase != want || !strings.Contains(run.Message, strings.TrimSpace(message)) ||
				strings.Contains(run.Message, "raise limits.ephemeral-storage in spec.resources") != last {
				t.Errorf("%+v", run)
			}
		})
	}
}
