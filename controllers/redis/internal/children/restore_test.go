package children

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
)

// The store's Secrets are with the container that talks to the store, the users with the server, and neither with both.
func TestRestorePod(t *testing.T) {
	r := fixture.Secured(cachev1alpha1.RedisClientAuthRequired)
	r.Spec.Bootstrap = &cachev1alpha1.RedisBootstrap{Backup: commonv1.BackupReference{
		Name: "nightly", Store: commonv1.BackupStore{S3: &commonv1.S3Store{Bucket: "b", SecretName: "keys"}}}}
	r.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "pull"}}
	pod := RestorePod(Inputs{Redis: r, Spec: config.Resolve(r), Image: "redis:8"}, "operator:1", "8.0.2")
	mountsOf := func(c corev1.Container) []string {
		var list []string
		for _, m := range c.VolumeMounts {
			list = append(list, m.MountPath)
		}
		slices.Sort(list)
		return list
	}
	fetch, serve := pod.Spec.InitContainers[0], pod.Spec.Containers[0]
	if got := mountsOf(fetch); fetch.Image != "operator:1" || !slices.Equal(got, []string{backup.StoreSecretDir, backup.ScratchDir}) {
		t.Errorf("%s has %v", fetch.Image, got)
	}
	if got := mountsOf(serve); serve.Image != "redis:8" ||
		!slices.Equal(got, []string{config.FilesDir, config.CertificatesDir, config.SocketDir, backup.ScratchDir}) {
		t.Errorf("%s has %v", serve.Image, got)
	}
	if pod.Spec.RestartPolicy != corev1.RestartPolicyNever || *pod.Spec.AutomountServiceAccountToken || len(pod.Spec.Containers) != 1 ||
		len(serve.Env)+len(serve.EnvFrom)+len(fetch.Env)+len(fetch.EnvFrom) > 0 ||
		!slices.Equal(pod.Spec.ImagePullSecrets, r.Spec.ImagePullSecrets) {
		t.Errorf("%+v", pod.Spec)
	}
}

// Each field of the reference reaches the runner. What was fetched once is fetched again.
func TestWhatARestorePodFetches(t *testing.T) {
	before := metav1.NewTime(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC))
	const item, another = "20260102T120000Z-89abcdef", "20260103T120000Z-89abcdef"
	for _, c := range []struct {
		name     string
		change   func(*commonv1.BackupReference)
		recorded string
		want     backup.Task
	}{
		{"the latest that is verified", func(*commonv1.BackupReference) {}, "", backup.Task{Folder: "ns/nightly", Choose: &backup.Choice{}}},
		{"before a time", func(b *commonv1.BackupReference) { b.Before = &before }, "",
			backup.Task{Folder: "ns/nightly", Choose: &backup.Choice{Before: before.Time}}},
		{"verified or not", func(b *commonv1.BackupReference) { b.AllowUnverified = true }, "",
			backup.Task{Folder: "ns/nightly", Choose: &backup.Choice{AllowUnverified: true}}},
		{"of another namespace", func(b *commonv1.BackupReference) { b.Namespace = "other" }, "",
			backup.Task{Folder: "other/nightly", Choose: &backup.Choice{}}},
		{"the one that is named, if it is verified", func(b *commonv1.BackupReference) { b.Item = item }, "",
			backup.Task{Folder: "ns/nightly", Item: item, Choose: &backup.Choice{}}},
		{"the one that is named, verified or not", func(b *commonv1.BackupReference) { b.Item, b.AllowUnverified = item, true }, "",
			backup.Task{Folder: "ns/nightly", Item: item, Choose: &backup.Choice{AllowUnverified: true}}},
		{"the recorded one", func(*commonv1.BackupReference) {}, item,
			backup.Task{Folder: "ns/nightly", Item: item, Choose: &backup.Choice{}}},
		{"the recorded one, whatever is named now", func(b *commonv1.BackupReference) { b.Item = another }, item,
			backup.Task{Folder: "ns/nightly", Item: item, Choose: &backup.Choice{}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := fixture.Secured(cachev1alpha1.RedisClientAuthRequired)
			r.Spec.Bootstrap = &cachev1alpha1.RedisBootstrap{Backup: commonv1.BackupReference{
				Name: "nightly", Store: commonv1.BackupStore{S3: &commonv1.S3Store{Bucket: "b", SecretName: "keys"}}}}
			c.change(&r.Spec.Bootstrap.Backup)
			if c.recorded != "" {
				r.Status.Restore = &cachev1alpha1.RedisRestore{Item: c.recorded}
			}
			c.want.Kind, c.want.Store, c.want.MaxVersion = backup.Redis, r.Spec.Bootstrap.Backup.Store, "8.0.2"
			c.want.Scratch.Limit = backup.RestoreScratchLimit
			words := RestorePod(Inputs{Redis: r, Spec: config.Resolve(r), Image: "redis:8"}, "operator:1", "8.0.2").Spec.InitContainers[0].Command
			want, err := json.Marshal(c.want)
			if got := words[len(words)-1]; err != nil || got != string(want) {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// A dump may be as large as what the nodes keep, and a node's disk is not filled with more.
func TestTheRoomOfARestorePod(t *testing.T) {
	const gib = 1 << 30
	for name, c := range map[string]struct {
		storage, memory string
		want            int64
	}{
		"without any bound, a large dump fits":                 {want: 64 * gib},
		"a dump is no larger than the storage":                 {storage: "20Gi", memory: "1Gi", want: 20 * gib},
		"a large storage may have a large dump":                {storage: "200Gi", want: 200 * gib},
		"a small storage has the least limit":                  {storage: "64Mi", want: gib},
		"without storage, a large memory may have a large one": {memory: "100Gi", want: 100 * gib},
	} {
		t.Run(name, func(t *testing.T) {
			r := fixture.Secured(cachev1alpha1.RedisClientAuthRequired)
			r.Spec.Bootstrap = &cachev1alpha1.RedisBootstrap{Backup: commonv1.BackupReference{
				Name: "nightly", Store: commonv1.BackupStore{S3: &commonv1.S3Store{Bucket: "b", SecretName: "keys"}}}}
			if r.Spec.Storage = nil; c.storage != "" {
				r.Spec.Storage = &cachev1alpha1.RedisStorage{Size: resource.MustParse(c.storage)}
			}
			if c.memory != "" {
				r.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(c.memory)}
			}
			pod := RestorePod(Inputs{Redis: r, Spec: config.Resolve(r), Image: "redis:8"}, "operator:1", "8.0.2").Spec
			for _, volume := range pod.Volumes {
				if volume.Name == "scratch" && volume.EmptyDir.SizeLimit.Value() != c.want {
					t.Errorf("it may have %s", volume.EmptyDir.SizeLimit)
				}
			}
			if got := pod.InitContainers[0].Resources.Requests.StorageEphemeral().Value(); got != backup.MinScratchRequest {
				t.Errorf("it requests %d bytes", got)
			}
		})
	}
}
