package e2e

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

const (
	// runnerProgram runs in the pods of backups.
	runnerProgram = "backup-runner"
	// twoParts is data that takes an upload of two parts, in bytes: it cannot be compressed.
	twoParts = 12 << 20
)

// backup is an object of either kind.
type backup interface {
	object
	GetBackupStatus() *commonv1.BackupStatus
}

// newBackup of an etcd or a redis, as the kind says.
func newBackup(kind, name, source string, o commonv1.BackupOptions) backup {
	if kind == "etcd" {
		return etcdBackup(name, source, o)
	}
	return redisBackup(name, source, o)
}

// randomBytes cannot be compressed.
func randomBytes(size int64) []byte {
	made := make([]byte, size)
	_, _ = rand.Read(made) // it never fails
	return made
}

// fillRedis with so many bytes, by a pipeline.
func fillRedis(ctx context.Context, client *redis.Client, size int64) {
	GinkgoHelper()
	Eventually(func() error { return client.Ping(ctx).Err() }).WithContext(ctx).Should(Succeed())
	const value, atATime = 256 << 10, 4 << 20
	for done := int64(0); done < size; done += atATime {
		_, err := client.WithTimeout(time.Minute).Pipelined(ctx, func(p redis.Pipeliner) error {
			for at := done; at < min(size, done+atATime); at += value {
				p.Set(ctx, fmt.Sprint("data-", at), randomBytes(value), 0)
			}
			return nil
		})
		Expect(err).NotTo(HaveOccurred())
	}
}

// fillEtcd with so many bytes, in large values.
func fillEtcd(ctx context.Context, etcd *clientv3.Client, size int64) {
	GinkgoHelper()
	Eventually(func(ctx context.Context) error {
		_, err := etcd.Get(ctx, "data")
		return err
	}).WithContext(ctx).Should(Succeed())
	const value = 1 << 20
	for at := int64(0); at < size; at += value {
		_, err := etcd.Put(ctx, fmt.Sprint("data-", at), string(randomBytes(value)))
		Expect(err).NotTo(HaveOccurred())
	}
}

// waits until the runner does, for this answer.
func (h *hold) waits(ctx context.Context) {
	GinkgoHelper()
	Eventually(h.reached).WithContext(ctx).Should(BeClosed(), "the runner of %s has not asked for that", h.folder)
}

// objectsOfAll is what the backups' statuses name, as it is in a bucket.
func objectsOfAll(kind string, all ...backup) []string {
	var list []string
	for _, b := range all {
		for _, item := range b.GetBackupStatus().Items {
			list = append(list, objectsOf(b.GetName(), item.Name, kind)...)
		}
	}
	slices.Sort(list)
	return list
}

var _ = Describe("A backup under way", Label(faults), func() {
	DescribeTable("is made by a later attempt when its runner is killed in any step, is given up when it is deleted, and leaves nothing",
		func(ctx SpecContext, kind string, makeSource func(context.Context)) {
			b := startS3(ctx, false)
			g := openGate(b)
			makeSource(ctx)
			started := map[string]*hold{ // by the step in which the runner is killed
				"backup": g.hold("backup", whileUploading), "fetch": g.hold("fetch", whileFetching),
				"verify": g.hold("verify", whileFetching), "finish": g.hold("finish", whileMarking),
			}
			given := g.hold("given-up", whileUploading)
			secrets := newCanary(ctx, kind, "source")
			var all []backup
			start := func(name string) backup {
				made := newBackup(kind, name, "source", commonv1.BackupOptions{Store: g.store})
				create(ctx, made)
				return made
			}
			for _, step := range []string{"backup", "fetch", "verify", "finish"} {
				all = append(all, start(step))
			}
			deleted := start("given-up")

			started["backup"].waits(ctx)
			Expect(b.unfinished(ctx)).To(ContainElement(HavePrefix(namespace+"/backup/")), "there is no upload to break off")
			for _, made := range all {
				step := made.GetName()
				started[step].waits(ctx)
				runner := podsOf(ctx, kind+"backup", step)[0]
				if step == "backup" || step == "fetch" {
					secrets.lookAt(ctx, runner, step)
				}
				if step == "verify" { // which asks nothing of the store
					started[step].pass()
				}
				Eventually(fault.KillCommand).WithArguments(runner.UID, runnerProgram, step).WithContext(ctx).
					WithPolling(2 * time.Millisecond).Should(Succeed())
				started[step].pass()
			}
			given.waits(ctx)
			Expect(k8s.Delete(ctx, deleted)).To(Succeed())
			Eventually(podsOf).WithArguments(ctx, kind+"backup", deleted.GetName()).WithContext(ctx).Should(BeEmpty())

			for _, made := range all {
				eventually(ctx, made, commonv1.ConditionComplete, metav1.ConditionTrue)
				Expect(made.GetBackupStatus().Run.Attempt).To(BeNumerically(">", 1), "no fault has killed the runner of %s", made.GetName())
				Eventually(podsOf).WithArguments(ctx, kind+"backup", made.GetName()).WithContext(ctx).Should(BeEmpty())
			}
			Expect(b.names(ctx)).To(Equal(objectsOfAll(kind, all...)))
			Expect(b.unfinished(ctx)).To(BeEmpty())
			// The first attempt at this one had marked its backup as verified.
			Expect(all[3].GetBackupStatus().Items).To(HaveLen(2))
			secrets.lookAfterwards(ctx)
			secrets.areNowhere(ctx)
		},
		Entry("of an EtcdCluster", longest, "etcd", func(ctx context.Context) {
			e := builders.EtcdCluster("source").Size(1).Build()
			create(ctx, e)
			eventuallyReady(ctx, e)
			fillEtcd(ctx, dialEtcd(e, nil), twoParts)
		}),
		Entry("of a Redis", longest, "redis", func(ctx context.Context) {
			// With little time of a core, verify lasts long enough to be killed: it has what the servers have.
			r := builders.Redis("source").Size(1).With(func(s *cachev1alpha1.RedisSpec) {
				s.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("200m")}
			}).Build()
			create(ctx, r)
			eventuallyReady(ctx, r)
			fillRedis(ctx, redisClient(ctx, r, r.Name), twoParts)
		}),
	)
})
