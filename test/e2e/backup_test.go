package e2e

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/minio/minio-go/v7"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
	"github.com/mainstay-operator/mainstay-operator/test/s3"
)

func etcdBackup(name, cluster string, o commonv1.BackupOptions) *databasev1alpha1.EtcdBackup {
	return &databasev1alpha1.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: databasev1alpha1.EtcdBackupSpec{ClusterName: cluster, BackupOptions: o}}
}

func redisBackup(name, redis string, o commonv1.BackupOptions) *cachev1alpha1.RedisBackup {
	return &cachev1alpha1.RedisBackup{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: cachev1alpha1.RedisBackupSpec{RedisName: redis, BackupOptions: o}}
}

// names of all objects in the bucket, sorted.
func (b bucket) names(ctx context.Context) []string {
	GinkgoHelper()
	var list []string
	for object := range b.ListObjects(ctx, s3.Bucket, minio.ListObjectsOptions{Recursive: true}) {
		Expect(object.Err).NotTo(HaveOccurred())
		list = append(list, object.Key)
	}
	slices.Sort(list)
	return list
}

// objectsOf is what a verified backup is in a bucket.
func objectsOf(name, item, kind string) []string {
	of := namespace + "/" + name + "/" + item + "." + kind
	return []string{of + ".data", of + ".json", of + ".verified"}
}

// canary looks for what backups must keep secret in all places where somebody could read it.
type canary struct {
	secrets map[string]string // by what they are
	places  map[string]string // what was read there
}

// storeControl is what may be known of the store: it is found where the runner gets it.
const storeControl = `"bucket":"` + s3.Bucket + `"`

// newCanary knows the store's key, and with which password a runner logs in to a redis.
func newCanary(ctx context.Context, kind, source string) *canary {
	GinkgoHelper()
	c := &canary{secrets: map[string]string{"the store's key": s3.SecretAccessKey}, places: map[string]string{}}
	if kind == "redis" {
		login := secretOf(ctx, source+"-backup").Data
		Expect(string(login[corev1.BasicAuthUsernameKey])).To(Equal("_backup"))
		Expect(login[corev1.BasicAuthPasswordKey]).NotTo(BeEmpty())
		c.secrets["the password of _backup"] = string(login[corev1.BasicAuthPasswordKey])
	}
	return c
}

// lookAt a pod whose runner carries out a command.
func (c *canary) lookAt(ctx context.Context, pod corev1.Pod, command string) {
	GinkgoHelper()
	c.places["the pods during "+command] = kubectl(ctx, "get", "pods", "--output=yaml", "--selector=app!=s3")
	c.places["the log during "+command] = "log: " + kubectl(ctx, "logs", pod.Name, "--all-containers", "--ignore-errors")
	pids, err := fault.Processes(pod.UID, runnerProgram)
	Expect(err).NotTo(HaveOccurred())
	for _, file := range []string{"cmdline", "environ"} {
		all := ""
		for _, pid := range pids {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
			Expect(err).NotTo(HaveOccurred())
			all += string(text)
		}
		c.places[file+" during "+command] = all
	}
	for _, place := range []string{"the pods", "cmdline"} { // or the search would find nothing anywhere
		Expect(strings.ReplaceAll(c.places[place+" during "+command], `\`, "")).To(ContainSubstring(storeControl), "of %s", place)
	}
}

// lookAfterwards at what stays.
func (c *canary) lookAfterwards(ctx context.Context) {
	GinkgoHelper()
	c.places["the objects"] = kubectl(ctx, "get", "etcdbackups,redisbackups,etcdclusters,redis,configmaps", "--output=yaml")
	c.places["the events"] = kubectl(ctx, "get", "events", "--output=yaml")
	c.places["the managers' logs"] = kubectl(ctx, "logs", "--namespace", operatorNamespace, "--selector=control-plane=controller-manager",
		"--tail=-1")
	c.places["the managers' metrics"] = managersMetrics(ctx)
	Expect(c.places["the objects"]).To(ContainSubstring("bucket: " + s3.Bucket))
	Expect(c.places["the events"]).To(ContainSubstring(commonv1.ReasonBackupVerified))
	Expect(c.places["the managers' metrics"]).To(ContainSubstring("mainstay_backup_runs_total"))
}

// areNowhere but in Secrets, where they are found.
func (c *canary) areNowhere(ctx context.Context) {
	GinkgoHelper()
	Expect(c.foundIn(kubectl(ctx, "get", "secrets", "--output=yaml"))).To(HaveLen(len(c.secrets)))
	for place, text := range c.places {
		Expect(text).NotTo(BeEmpty(), "nothing was read of %s", place)
		Expect(c.foundIn(text)).To(BeEmpty(), "of %s", place)
	}
}

// foundIn returns which secrets a text has, as they are or in base64.
func (c *canary) foundIn(text string) (found []string) {
	for what, secret := range c.secrets {
		if strings.Contains(text, secret) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(secret))) {
			found = append(found, what)
		}
	}
	return found
}

// managersMetrics are those of all managers, as a scraper reads them who has the right to.
func managersMetrics(ctx context.Context) string {
	GinkgoHelper()
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-metrics-"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "mainstay-operator-metrics-reader"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "default"}}}
	Expect(k8s.Create(ctx, binding)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(k8s.Delete(ctx, binding)).To(Succeed()) })
	token := strings.TrimSpace(kubectl(ctx, "create", "token", "default"))
	scraper := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // its certificate is its own
	managers, err := cluster.Operators(ctx, k8s)
	Expect(err).NotTo(HaveOccurred())
	Expect(managers).NotTo(BeEmpty())
	all := ""
	for _, manager := range managers {
		read := func(ctx context.Context) (string, error) {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+net.JoinHostPort(manager.Status.PodIP, "8443")+"/metrics",
				nil)
			if err != nil {
				return "", err
			}
			request.Header.Set("Authorization", "Bearer "+token)
			answer, err := scraper.Do(request)
			if err != nil {
				return "", err
			}
			defer func() { _ = answer.Body.Close() }()
			text, err := io.ReadAll(answer.Body)
			if err == nil && answer.StatusCode != http.StatusOK {
				err = fmt.Errorf("%s: %s", answer.Status, text)
			}
			return string(text), err
		}
		var text string
		Eventually(func(ctx context.Context) (err error) { // the API server may not know the right yet
			text, err = read(ctx)
			return err
		}).WithContext(ctx).Should(Succeed())
		all += text
	}
	return all
}

var _ = Describe("Backups", Label(faults), func() {
	It("are made each minute onto a volume by two schedules at once, and only the last one of each is kept", func(ctx SpecContext) {
		claim(ctx, "backups")
		e := builders.EtcdCluster("keys").Size(1).Build()
		r := builders.Redis("cart").Size(2).Build()
		create(ctx, e)
		create(ctx, r)
		eventuallyReady(ctx, e)
		eventuallyReady(ctx, r)
		kept := commonv1.BackupRetention{KeepLast: ptr.To[int32](1)}
		minutely := builders.EtcdBackup("minutely", "keys", builders.Volume("backups")).With(func(s *databasev1alpha1.EtcdBackupSpec) {
			s.Schedule, s.Retention = "* * * * *", &kept
		}).Build()
		all := []backup{minutely}
		for _, name := range []string{"minutely", "minutely-too"} {
			all = append(all, builders.RedisBackup(name, "cart", builders.Volume("backups")).With(func(s *cachev1alpha1.RedisBackupSpec) {
				s.Schedule, s.Retention = "* * * * *", &kept
			}).Build())
		}
		for _, b := range all {
			create(ctx, b)
		}
		for _, b := range all {
			status, first := b.GetBackupStatus(), ""
			Eventually(func(g Gomega) {
				refresh(ctx, b)
				g.Expect(status.LastVerified).NotTo(BeNil(), "conditions: %+v", status.Conditions)
				first = status.LastVerified.Name
			}).WithContext(ctx).Should(Succeed())
			Eventually(func(g Gomega) {
				refresh(ctx, b)
				g.Expect(status.LastVerified.Name).NotTo(Equal(first), "conditions: %+v", status.Conditions)
				g.Expect(status.Items).To(ConsistOf(*status.LastVerified))
			}).WithContext(ctx).Should(Succeed())
		}
	}, longest, Label(long))
})
