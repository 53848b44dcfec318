package backup

import (
	"cmp"
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
		maxSize int64  // of the source
		verify  bool
		want    string // size limit in MiB, limit of the runner in MiB, request in MiB
	}{
		"a first backup has the default limit":               {kind: Etcd(), verify: true, want: "20480 20480 128"},
		"a first backup of a small source has no less":       {kind: Etcd(), verify: true, maxSize: gib, want: "20480 20480 128"},
		"a first backup of a large etcd fits its quota":      {kind: Etcd(), verify: true, maxSize: 16 * gib, want: "32907 32907 128"},
		"a first backup of a large Redis fits its dump":      {kind: Redis(), verify: true, maxSize: 64 * gib, want: "65552 65552 128"},
		"an etcd is restored next to its snapshot":           {kind: Etcd(), verify: true, rawSize: 8 * gib, want: "33046 33046 16523"},
		"a Redis only reads its dump":                        {kind: Redis(), verify: true, rawSize: 8 * gib, want: "16416 16416 8208"},
		"an etcd that is not verified is not restored":       {kind: Etcd(), rawSize: 8 * gib, want: "16416 16416 8208"},
		"what was last counts, whatever the source may have": {kind: Redis(), rawSize: gib, maxSize: 64 * gib, want: "2080 2080 1040"},
		"little data has room to grow":                       {kind: Redis(), verify: true, rawSize: 1, want: "1024 1024 128"},
		"the user's limit counts":                            {kind: Etcd(), verify: true, rawSize: 8 * gib, limit: "5Gi", want: "4992 4992 0"},
		"half of a small limit of the user is for data":      {kind: Redis(), verify: true, limit: "128Mi", want: "64 64 0"},
	} {
		t.Run(name, func(t *testing.T) {
			b := running("", func(b *databasev1alpha1.EtcdBackup) {
				b.Status.Run.RawSize, b.Spec.Verify = c.rawSize, &c.verify
				if c.limit != "" {
					b.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceEphemeralStorage: resource.MustParse(c.limit)}
				}
			})
			from := testSource
			from.maxSize = c.maxSize
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
				if got, want := container.Resources.Limits.StorageEphemeral().String(), cmp.Or(c.limit, "0"); got != want {
					t.Errorf("%s has the limit %s, want %s", container.Name, got, want)
				}
				if requested := container.Resources.Requests.StorageEphemeral(); container.Name != mainContainer && !requested.IsZero() {
					t.Errorf("%s requests %s as well", container.Name, requested)
				}
			}
			got := fmt.Sprint(sizeLimit>>20, taskOf(t, pod.Containers[0]).Scratch.Limit>>20, request>>20)
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// A request of the user counts, also one that is smaller than the data.
func TestARequestOfTheUserCounts(t *testing.T) {
	b := running("", func(b *databasev1alpha1.EtcdBackup) {
		b.Status.Run.RawSize = 8 << 30
		b.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceEphemeralStorage: resource.MustParse("1Gi")}
	})
	pod := desiredPod(b, Etcd(), testSource).Spec
	if got := pod.Containers[0].Resources.Requests.StorageEphemeral().String(); got != "1Gi" {
		t.Errorf("requested is %s", got)
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
	if limit := scratchOf(b, backup.Redis, testSource).Limit; limit < 42<<30 {
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
