package children

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// taskOf is what a container of the runner is to do.
func taskOf(t *testing.T, c corev1.Container) backup.Task {
	t.Helper()
	var task backup.Task
	if err := json.Unmarshal([]byte(c.Command[len(c.Command)-1]), &task); err != nil {
		t.Fatal(err)
	}
	return task
}

func TestWhatIsFetched(t *testing.T) {
	before := metav1.NewTime(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC))
	for _, c := range []struct {
		name    string
		arrange func(*databasev1alpha1.EtcdCluster)
		want    backup.Task
	}{
		{"the latest that is verified", func(*databasev1alpha1.EtcdCluster) {},
			backup.Task{Folder: "ns/nightly", Choose: &backup.Choice{}, MaxVersion: "3.7.3"}},
		{"that of another namespace, before a time, verified or not", func(e *databasev1alpha1.EtcdCluster) {
			from := &e.Spec.Bootstrap.Backup
			from.Namespace, from.Before, from.AllowUnverified = "other", &before, true
		}, backup.Task{Folder: "other/nightly", Choose: &backup.Choice{Before: before.Time, AllowUnverified: true}, MaxVersion: "3.7.3"}},
		{"the one that is named", func(e *databasev1alpha1.EtcdCluster) { e.Spec.Bootstrap.Backup.Item = "named" },
			backup.Task{Folder: "ns/nightly", Item: "named", Choose: &backup.Choice{}, MaxVersion: "3.7.3"}},
		{"the recorded one, for the version that is to load it", func(e *databasev1alpha1.EtcdCluster) {
			e.Status.TargetVersion = "3.6.16"
			e.Status.Membership = &databasev1alpha1.EtcdMembership{Restore: fixture.Restore("recorded")}
		}, backup.Task{Folder: "ns/nightly", Item: "recorded", Choose: &backup.Choice{}, MaxVersion: "3.6.16"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := fixture.FromBackup()
			c.arrange(e)
			got := taskOf(t, fetchPod(e).Spec.InitContainers[0])
			if got.Store.S3 == nil || got.Store.S3.Bucket != "backups" || got.Kind != backup.Etcd {
				t.Errorf("from %+v", got)
			}
			got.Store, got.Kind, got.Scratch = c.want.Store, c.want.Kind, c.want.Scratch
			if gotText, wantText := asJSON(t, got), asJSON(t, c.want); gotText != wantText {
				t.Errorf("got %s", gotText)
			}
		})
	}
}

func fetchPod(e *databasev1alpha1.EtcdCluster) *corev1.Pod {
	spec := config.Resolve(e, &appsv1.StatefulSet{}, []string{"etcd:v3.5.35", "etcd:v3.6.16", "etcd:v3.7.3"})
	return FetchPod(Inputs{Cluster: e, Spec: spec}, membership.Situation{Spec: spec, Status: &e.Status}, "", "operator")
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The members' Service and budget must not select the pod, nor may what serves members get at the store.
func TestThePodOfABackup(t *testing.T) {
	e := fixture.FromBackup()
	e.Spec.Tolerations = []corev1.Toleration{{Key: "etcd", Operator: corev1.TolerationOpExists}}
	e.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "pull"}}
	pod := fetchPod(e)
	isOfCluster := pod.Labels[parts.LabelName] != config.AppName && pod.Labels[parts.LabelInstance] == "a"
	if pod.Name != "a-restore" || !isOfCluster || len(pod.Spec.Tolerations) != 1 {
		t.Errorf("got %v", pod.ObjectMeta)
	}
	if !slices.Equal(pod.Spec.ImagePullSecrets, e.Spec.ImagePullSecrets) {
		t.Errorf("its images are pulled with %v", pod.Spec.ImagePullSecrets)
	}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) { // Secrets are files alone
		if len(c.Env)+len(c.EnvFrom) > 0 {
			t.Errorf("%s has %v, %v", c.Name, c.Env, c.EnvFrom)
		}
	}
	if pod.Spec.RestartPolicy != "" && pod.Spec.RestartPolicy != corev1.RestartPolicyAlways {
		t.Errorf("it is tried %s", pod.Spec.RestartPolicy)
	}
	mounts := func(c corev1.Container) string {
		var names []string
		for _, m := range c.VolumeMounts {
			names = append(names, m.Name)
		}
		return strings.Join(names, " ")
	}
	if got := mounts(pod.Spec.InitContainers[0]); got != "scratch store-secret" {
		t.Errorf("the fetch has %s", got)
	}
	if got := mounts(pod.Spec.Containers[0]); got != "scratch peers" {
		t.Errorf("the server has %s", got)
	}
	if words := pod.Spec.Containers[0].Command; words[0] != backup.Program || words[1] != backup.CommandServe {
		t.Errorf("it runs %v", words)
	}
}
