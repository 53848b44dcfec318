package backup

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/once"
)

// mounts are the paths of a container's volumes, with the volume that is there.
func mounts(c corev1.Container) []string {
	var list []string
	for _, m := range c.VolumeMounts {
		list = append(list, m.MountPath+" "+m.Name)
	}
	slices.Sort(list)
	return list
}

func taskOf(t *testing.T, c corev1.Container) backup.Task {
	t.Helper()
	var task backup.Task
	if err := json.Unmarshal([]byte(c.Command[len(c.Command)-1]), &task); err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	return task
}

// fullPod is the pod of an object that sets many fields.
func fullPod() (*databasev1alpha1.EtcdBackup, *corev1.Pod) {
	b := running("", func(b *databasev1alpha1.EtcdBackup) {
		b.Spec.Retention = &commonv1.BackupRetention{KeepLast: ptr.To[int32](3)}
		b.Status.Run.Leftovers = []string{testItem}
		b.Spec.NodeSelector = map[string]string{"disk": "large"}
		b.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "pull"}}
	})
	from := testSource
	from.resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}
	return b, desiredPod(b, Etcd(), from)
}

func TestTheContainers(t *testing.T) {
	_, pod := fullPod()
	want := []struct {
		name, image string
		mounts      []string
	}{
		{"install", "operator:1", []string{"/backup-runner-program program", "/scratch scratch"}},
		{"backup", "operator:1", []string{"/etc/backup/source source", "/etc/backup/store store-secret", "/scratch scratch"}},
		{"fetch", "operator:1", []string{"/etc/backup/store store-secret", "/scratch scratch"}},
		{"verify", "etcd:1", []string{"/backup-runner-program program", "/scratch scratch"}}, // a server's image gets no Secret
		{"finish", "operator:1", []string{"/etc/backup/store store-secret", "/scratch scratch"}},
	}
	all := append(pod.Spec.InitContainers, pod.Spec.Containers...)
	if len(all) != len(want) {
		t.Fatalf("%d containers", len(all))
	}
	for i, c := range all {
		if got := mounts(c); c.Name != want[i].name || c.Image != want[i].image || !reflect.DeepEqual(got, want[i].mounts) {
			t.Errorf("%s of %s: %v, want %+v", c.Name, c.Image, got, want[i])
		}
		if len(c.Env)+len(c.EnvFrom) > 0 || c.SecurityContext == nil || !ptr.Deref(c.SecurityContext.ReadOnlyRootFilesystem, false) {
			t.Errorf("%s: %+v", c.Name, c)
		}
	}
	equal(t, "memory of a server", all[3].Resources.Limits.Memory().String(), "1Gi")
}

func TestTheTasks(t *testing.T) {
	b, pod := fullPod()
	task := taskOf(t, pod.Spec.InitContainers[1])
	want := backup.Task{Kind: backup.Etcd, Store: b.Spec.Store, Folder: "ns/nightly", Item: b.Status.Run.Item, Time: testTime,
		Leftovers: []string{testItem},
		Verify:    true, Retention: b.Spec.Retention, Scratch: backup.Scratch{Limit: backup.DefaultScratchLimit},
		Source: &backup.Source{UID: "source-uid", ClusterID: "abc", Endpoints: testSource.endpoints, TLS: true,
			Origin: backup.Origin{UID: "source-uid", Cluster: "ca-sum", Kind: "EtcdCluster", Namespace: "ns", Name: b.Spec.ClusterName}}}
	if !reflect.DeepEqual(task, want) {
		t.Errorf("got %+v, want %+v", task, want)
	}
	want.Source, want.Leftovers = nil, nil
	if later := taskOf(t, pod.Spec.Containers[0]); !reflect.DeepEqual(later, want) {
		t.Errorf("got %+v, want %+v", later, want)
	}
}

func TestThePod(t *testing.T) {
	b, pod := fullPod()
	s := pod.Spec
	if ptr.Deref(s.AutomountServiceAccountToken, true) || s.RestartPolicy != corev1.RestartPolicyNever ||
		*s.SecurityContext.RunAsUser != 65532 ||
		s.NodeSelector["disk"] != "large" || !slices.Equal(s.ImagePullSecrets, b.Spec.ImagePullSecrets) ||
		*s.ActiveDeadlineSeconds != 24*3600 || !once.IsGated(pod) || !metav1.IsControlledBy(pod, b) {
		t.Errorf("%+v", pod)
	}
	equal(t, "name", pod.Name, "nightly-"+b.Status.Run.Item[17:])
	if _, again := fullPod(); !reflect.DeepEqual(again, pod) {
		t.Error("the same input gives another pod")
	}
}

func TestThePodWithoutVerification(t *testing.T) {
	b := running("", func(b *databasev1alpha1.EtcdBackup) {
		b.Spec.Verify = ptr.To(false)
		b.Spec.Store = commonv1.BackupStore{Volume: &commonv1.VolumeStore{ClaimName: "backups"}}
	})
	from := testSource
	from.secrets = nil
	pod := desiredPod(b, Etcd(), from)
	if len(pod.Spec.InitContainers) != 1 || pod.Spec.InitContainers[0].Name != backup.CommandBackup {
		t.Errorf("%+v", pod.Spec.InitContainers)
	}
	if got := mounts(pod.Spec.InitContainers[0]); !reflect.DeepEqual(got, []string{"/scratch scratch", "/store store"}) {
		t.Error(got)
	}
}

// An annotation is a user's, and may be anything.
func TestTheItemThatAHumanAllows(t *testing.T) {
	for value, want := range map[string]string{testItem: testItem, "": "", "all": "", testItem + "'": ""} {
		b := running("", func(b *databasev1alpha1.EtcdBackup) {
			b.Annotations = map[string]string{commonv1.AllowRetention: value}
		})
		equal(t, value, taskOf(t, desiredPod(b, Etcd(), testSource).Spec.Containers[0]).Allowed, want)
	}
}

// The names of attempts differ in what the API server takes for names of pods.
func TestNamesOfAttempts(t *testing.T) {
	b := newBackup(func(b *databasev1alpha1.EtcdBackup) { b.Name = strings.Repeat("a", 52) })
	seen := map[string]bool{}
	for attempt := range int32(50) {
		for hour := range 24 {
			due := testTime.Add(time.Duration(hour) * time.Hour)
			b.Status.Run = nextAttempt(b, due, attempt+1, testTime, "operator:1")
			if name := b.Status.Run.PodName; len(name) > 63 || seen[name] || seen[b.Status.Run.Item] {
				t.Fatal(name, b.Status.Run.Item)
			}
			seen[b.Status.Run.PodName], seen[b.Status.Run.Item] = true, true
			if len(b.Status.Run.Leftovers) > maxLeftovers {
				t.Fatal(b.Status.Run.Leftovers)
			}
		}
	}
	if n := len(b.Status.Run.Leftovers); n != maxLeftovers {
		t.Error(n)
	}
	b.Status.Run.Phase, b.Status.Run.Leftovers = commonv1.BackupSucceeded, []string{testItem}
	if next := nextAttempt(b, testTime, 1, testTime, ""); !slices.Equal(next.Leftovers, []string{testItem}) {
		t.Errorf("what a run that succeeded could not delete is forgotten: %v", next.Leftovers)
	}
}

func TestEtcdSource(t *testing.T) {
	healthy := func(e *databasev1alpha1.EtcdCluster) {
		e.Status.TargetImage = "etcd:1"
		e.Status.Membership = &databasev1alpha1.EtcdMembership{ClusterID: "abc",
			Members: []databasev1alpha1.EtcdRecordedMember{{Name: "data-2"}, {Name: "data-0"}}}
		e.Status.Conditions = []metav1.Condition{{Type: commonv1.ConditionAvailable, Status: metav1.ConditionTrue}}
	}
	for _, c := range []struct {
		reason string
		change func(*databasev1alpha1.EtcdCluster)
		says   string
	}{
		{"healthy", func(*databasev1alpha1.EtcdCluster) {}, ""},
		{"new", func(e *databasev1alpha1.EtcdCluster) { e.Status = databasev1alpha1.EtcdClusterStatus{} },
			`EtcdCluster "data" has no members yet`},
		{"being restored in place", func(e *databasev1alpha1.EtcdCluster) { e.Status.Membership.ClusterID = "" }, "has no members yet"},
		{"without a majority", func(e *databasev1alpha1.EtcdCluster) {
			e.Status.Conditions[0].Status, e.Status.Conditions[0].Message = metav1.ConditionFalse, "1 of 3 voters"
		}, "is not available: 1 of 3 voters"},
		{"going", func(e *databasev1alpha1.EtcdCluster) { e.DeletionTimestamp = ptr.To(metav1.Now()) }, "is being deleted"},
	} {
		e := &databasev1alpha1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "data", UID: "u"}}
		e.Spec.TLS = &databasev1alpha1.EtcdTLS{SecretName: "chosen"}
		healthy(e)
		c.change(e)
		found, notReady := etcdSource(e)
		if notReady != c.says && (c.says == "" || !strings.Contains(notReady, c.says)) {
			t.Errorf("%s: %q", c.reason, notReady)
		}
		want := source{kind: "EtcdCluster", uid: "u", clusterID: "abc",
			endpoints: []string{"data-0.data-headless.ns.svc:2379", "data-2.data-headless.ns.svc:2379"}, tls: true, image: "etcd:1",
			secrets: []secretKeys{{"data-certificates", []string{"ca.crt", "tls.crt", "tls.key"}}}}
		if c.says == "" && !reflect.DeepEqual(found, want) {
			t.Errorf("%s: %+v", c.reason, found)
		}
	}
}

func TestSecretsOfAnEtcdSource(t *testing.T) {
	certificates := secretKeys{"data-certificates", []string{"ca.crt", "tls.crt", "tls.key"}}
	login := secretKeys{"data-backup", []string{"username", "password"}}
	for _, c := range []struct {
		tls  *databasev1alpha1.EtcdTLS
		auth *databasev1alpha1.EtcdAuth
		want []secretKeys
	}{
		{nil, nil, nil},
		{&databasev1alpha1.EtcdTLS{}, nil, []secretKeys{certificates}},
		{nil, &databasev1alpha1.EtcdAuth{}, []secretKeys{login}},
		{&databasev1alpha1.EtcdTLS{}, &databasev1alpha1.EtcdAuth{}, []secretKeys{certificates, login}},
	} {
		e := &databasev1alpha1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "data"}}
		e.Spec.TLS, e.Spec.Auth = c.tls, c.auth
		e.Status.TargetImage = "etcd:1"
		e.Status.Membership = &databasev1alpha1.EtcdMembership{ClusterID: "abc", Members: []databasev1alpha1.EtcdRecordedMember{{Name: "data-0"}}}
		e.Status.Conditions = []metav1.Condition{{Type: commonv1.ConditionAvailable, Status: metav1.ConditionTrue}}
		found, notReady := etcdSource(e)
		if notReady != "" || !reflect.DeepEqual(found.secrets, c.want) || found.serverName != "" || found.clusterID != "abc" {
			t.Errorf("got %+v, %q, want %+v", found, notReady, c.want)
		}
	}
}

// A certificate of a Redis names its Service alone; one of an EtcdCluster names each pod.
func TestTheNameOfServersInATask(t *testing.T) {
	b := running("")
	for _, c := range []struct {
		from source
		want string
	}{
		{source{tls: true}, ""},
		{source{tls: true, serverName: "cart.ns.svc"}, "cart.ns.svc"},
	} {
		equal(t, "name of servers", newTask(b, backup.Redis, c.from).Source.ServerName, c.want)
	}
}

func TestRedisSource(t *testing.T) {
	r := &cachev1alpha1.Redis{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "cart", UID: "u"}}
	r.Status.Nodes = []cachev1alpha1.RedisNode{{Name: "cart-0"}, {Name: "cart-1"}}
	r.Status.Epoch, r.Status.Replication = 2, &cachev1alpha1.RedisReplication{Epoch: 2, ReplID: "history"}
	r.Status.Conditions = []metav1.Condition{{Type: commonv1.ConditionAvailable, Status: metav1.ConditionTrue}}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(r,
		cachev1alpha1.GroupVersion.WithKind("Redis"))}}}
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "redis", Image: "redis:1"}}

	found, notReady := redisSource(r, set)
	want := source{kind: "Redis", uid: "u", replicationID: "history", size: 3,
		endpoints: []string{"cart-0.cart-headless.ns.svc:6379", "cart-1.cart-headless.ns.svc:6379"}, image: "redis:1",
		secrets: []secretKeys{{"cart-backup", []string{"username", "password", "uid"}}}}
	if notReady != "" || !reflect.DeepEqual(found, want) {
		t.Errorf("%q %+v", notReady, found)
	}
	r.Spec.Size, r.Status.Nodes = ptr.To[int32](5), r.Status.Nodes[:1] // a quota admits no other pod
	found, _ = redisSource(r, set)
	equal(t, "servers when all run", newTask(running(""), backup.Redis, found).Source.Size, 5)
	r.Status.DatasetEpoch = 7
	found, _ = redisSource(r, set)
	equal(t, "data set that started in epoch 7", newTask(running(""), backup.Redis, found).Source.Dataset, "7")
	r.Spec.TLS = &cachev1alpha1.RedisTLS{SecretName: "chosen", ClientAuth: cachev1alpha1.RedisClientAuthRequired}
	found, _ = redisSource(r, set)
	equal(t, "name of servers", found.serverName, "cart.ns.svc")
	volume := secretsVolume(found.secrets)
	if len(volume.Projected.Sources) != 2 || *volume.Projected.Sources[1].Secret.Name != "cart-certificates" ||
		len(volume.Projected.Sources[0].Secret.Items) != 4 {
		t.Errorf("%+v", volume.Projected)
	}
	if _, notReady := redisSource(r, &appsv1.StatefulSet{}); !strings.Contains(notReady, "no nodes yet") {
		t.Error(notReady)
	}
	r.Status.Epoch = 3 // a switchover that was held back: the recorded master serves
	if _, notReady := redisSource(r, set); notReady != "" {
		t.Error(notReady)
	}
	unrecorded := r.DeepCopy()
	unrecorded.Status.Replication = nil
	if _, notReady := redisSource(unrecorded, set); !strings.Contains(notReady, "no recorded master") {
		t.Error(notReady)
	}
	r.Status.Conditions[0].Status = metav1.ConditionFalse
	if _, notReady := redisSource(r, set); !strings.Contains(notReady, "is not available") {
		t.Error(notReady)
	}
}
