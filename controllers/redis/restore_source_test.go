package redis

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
)

// ended is the status of a container that ended a minute ago.
func ended(name string, code int32, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: "Error", Message: message, FinishedAt: metav1.NewTime(present.Add(-time.Minute))}}}
}

func TestSourceFromPod(t *testing.T) {
	item := `{"item":{"name":"20260102T120000Z-89abcdef","size":1,"sha256":"` + strings.Repeat("a", 64) + `"}}`
	for _, c := range []struct {
		reason        string
		init, main    []corev1.ContainerStatus
		phase         corev1.PodPhase
		item, failure string
	}{
		{"it fetches", nil, nil, corev1.PodPending, "", ""},
		{"it serves", []corev1.ContainerStatus{ended("fetch", 0, item)}, nil, corev1.PodRunning, "20260102T120000Z-89abcdef", ""},
		{"the store refuses", []corev1.ContainerStatus{ended("fetch", 1, `{"error":"NoSuchBucket: no\u0007 such bucket"}`)}, nil, corev1.PodFailed, "", "NoSuchBucket: no? such bucket"},
		{"the runner says nothing", []corev1.ContainerStatus{ended("fetch", 2, "")}, nil, corev1.PodFailed, "", "container fetch ended with exit code 2 (Error)"},
		{"nothing that can be read", []corev1.ContainerStatus{ended("fetch", 0, "{")}, nil, corev1.PodRunning, "", "its manifest has an impossible name"},
		{"a name that is none", []corev1.ContainerStatus{ended("fetch", 0, `{"item":{"name":"../../x"}}`)}, nil, corev1.PodRunning, "", "its manifest has an impossible name"},
		{"more than a runner says", []corev1.ContainerStatus{ended("fetch", 1, `{"error":"`+strings.Repeat("x", 3000)+`"}`)}, nil, corev1.PodFailed, "", "container fetch ended"},
		{"the server does not take it", []corev1.ContainerStatus{ended("fetch", 0, item)}, []corev1.ContainerStatus{ended("serve", 1, "Can't handle RDB format version 99")},
			corev1.PodFailed, "20260102T120000Z-89abcdef", "Can't handle RDB format version 99"},
		{"a container of somebody else ends", []corev1.ContainerStatus{ended("istio-init", 0, "")}, nil, corev1.PodPending, "", ""},
		{"it was evicted", nil, nil, corev1.PodFailed, "", "the pod a-restore has ended"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a-restore", CreationTimestamp: metav1.NewTime(present.Add(-time.Minute))},
				Status: corev1.PodStatus{Phase: c.phase, InitContainerStatuses: c.init, ContainerStatuses: c.main}}
			got := sourceFromPod(pod, present)
			if got.Item != c.item || !strings.Contains(got.Failure, c.failure) || (got.Failure == "") != (c.failure == "") {
				t.Errorf("got %q, %q", got.Item, got.Failure)
			}
			if got.Warning != "" {
				t.Errorf("it warns: %q", got.Warning)
			}
			if got.Failure != "" && got.SinceFailure != time.Minute {
				t.Errorf("since %s", got.SinceFailure)
			}
		})
	}
}

func TestSourceFromPodWarns(t *testing.T) {
	message := `{"warning":"the manifest names no source","item":{"name":"20260102T120000Z-89abcdef","size":1,"sha256":"` + strings.Repeat("a", 64) + `"}}`
	pod := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning, InitContainerStatuses: []corev1.ContainerStatus{ended("fetch", 0, message)}}}
	if got := sourceFromPod(pod, present); got.Item == "" || got.Warning != "the manifest names no source" {
		t.Errorf("%+v", got)
	}
}

// The store's Secrets are with the container that talks to the store, the users with the server, and neither with both.
func TestRestorePod(t *testing.T) {
	r := fixture.Secured(cachev1alpha1.RedisClientAuthRequired)
	r.Spec.Bootstrap = &cachev1alpha1.RedisBootstrap{Backup: commonv1.BackupReference{
		Name: "nightly", Store: commonv1.BackupStore{S3: &commonv1.S3Store{Bucket: "b", SecretName: "keys"}}}}
	r.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "pull"}}
	pod := restorePod(r, config.Resolve(r), "redis:8", "operator:1", "8.0.2")
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
	if got := mountsOf(serve); serve.Image != "redis:8" || !slices.Equal(got, []string{config.FilesDir, config.CertificatesDir, config.SocketDir, backup.ScratchDir}) {
		t.Errorf("%s has %v", serve.Image, got)
	}
	if pod.Spec.RestartPolicy != corev1.RestartPolicyNever || *pod.Spec.AutomountServiceAccountToken || len(pod.Spec.Containers) != 1 ||
		len(serve.Env)+len(serve.EnvFrom)+len(fetch.Env)+len(fetch.EnvFrom) > 0 || !slices.Equal(pod.Spec.ImagePullSecrets, r.Spec.ImagePullSecrets) {
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
		{"the one on record", func(*commonv1.BackupReference) {}, item,
			backup.Task{Folder: "ns/nightly", Item: item, Choose: &backup.Choice{}}},
		{"the one on record, whatever is named now", func(b *commonv1.BackupReference) { b.Item = another }, item,
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
			words := restorePod(r, config.Resolve(r), "redis:8", "operator:1", "8.0.2").Spec.InitContainers[0].Command
			want, err := json.Marshal(c.want)
			if got := words[len(words)-1]; err != nil || got != string(want) {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}
