package e2e

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/s3"
)

// badStore is one that a backup cannot be written to, until it is repaired.
type badStore struct {
	store commonv1.BackupStore
	// words are the store's own, or the network's.
	words string
	// lasting: another attempt is made only minutes later.
	lasting bool
	repair  func()
	// files of the store: what there is in a bucket or on a volume, unfinished uploads included.
	files func() []string
}

// All rows have one source and one S3 server.
var _ = Describe("A backup to a store", Label(faults), longest, Ordered, ContinueOnFailure, func() {
	var shared string
	var b bucket
	var g *gate
	BeforeAll(func(ctx SpecContext) {
		shared = newNamespace(ctx)
		namespace = shared
		b = startS3(ctx, true)
		g = openGate(b)
		r := builders.Redis("source").Size(1).Build()
		create(ctx, r)
		eventuallyReady(ctx, r)
		fillRedis(ctx, redisClient(ctx, r, r.Name), twoParts)
	})
	BeforeEach(func() { namespace = shared })

	// inBucket are a backup's objects and unfinished uploads.
	inBucket := func(ctx context.Context, name string) []string {
		GinkgoHelper()
		return slices.DeleteFunc(append(b.names(ctx), b.unfinished(ctx)...), func(key string) bool {
			return !strings.HasPrefix(key, shared+"/"+name+"/")
		})
	}
	// secret of the store, of which one key is wrong.
	secret := func(ctx context.Context, name, key string, right, wrong []byte) (repair func()) {
		GinkgoHelper()
		made := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string][]byte{
			"accessKeyID": []byte(s3.AccessKeyID), "secretAccessKey": []byte(s3.SecretAccessKey)}}
		made.Data[key] = wrong
		create(ctx, made)
		return func() { edit(ctx, made, func(s *corev1.Secret) { s.Data[key] = right }) }
	}

	DescribeTable("says in its words why there is none, leaves nothing behind, and is made once that is fixed",
		func(ctx SpecContext, name string, harm func(ctx context.Context, name string) badStore) {
			is := harm(ctx, name)
			options := commonv1.BackupOptions{Store: is.store, Verify: ptr.To(false)}
			made := redisBackup(name, "source", options)
			create(ctx, made)
			Eventually(func(g Gomega) {
				refresh(ctx, made)
				progressing := condition(made, commonv1.ConditionProgressing)
				g.Expect(progressing.Reason).To(Equal(commonv1.ReasonRetrying), progressing.Message)
				g.Expect(progressing.Message).To(ContainSubstring(is.words))
			}).WithContext(ctx).Should(Succeed())
			Expect(condition(made, commonv1.ConditionReady).Status).To(Equal(metav1.ConditionFalse))
			degraded := condition(made, commonv1.ConditionDegraded)
			if is.lasting {
				Expect(degraded.Reason).To(Equal(commonv1.ReasonBackupRefused))
				Expect(degraded.Message).To(ContainSubstring(is.words))
			} else {
				Expect(degraded.Status).To(Equal(metav1.ConditionFalse), degraded.Message)
			}
			Expect(is.files()).To(BeEmpty())

			is.repair()
			if is.lasting { // a user who has fixed it does not wait for minutes either
				Expect(k8s.Delete(ctx, made)).To(Succeed())
				eventuallyGone(ctx, made)
				made = redisBackup(name, "source", options)
				create(ctx, made)
			}
			eventually(ctx, made, commonv1.ConditionComplete, metav1.ConditionTrue)
			Expect(made.Status.Items).To(HaveLen(1))
			Expect(is.files()).To(Equal(objectsOf(name, made.Status.Items[0].Name, "redis")[:2]), "of one that was not verified")
			Eventually(podsOf).WithArguments(ctx, "redisbackup", name).WithContext(ctx).Should(BeEmpty())
		},
		Entry("that refuses the login", "login", func(ctx context.Context, name string) badStore {
			is := badStore{store: *g.store.DeepCopy(), words: "SignatureDoesNotMatch", lasting: true}
			is.repair = secret(ctx, "login-keys", "secretAccessKey", []byte(s3.SecretAccessKey), []byte("wrong"))
			is.store.S3.SecretName = "login-keys"
			is.files = func() []string { return inBucket(ctx, name) }
			return is
		}),
		Entry("that is full, on S3", "full", func(ctx context.Context, name string) badStore {
			return badStore{store: g.store, words: "XMinioStorageFull: " + fullWords, repair: g.fill(shared + "/" + name),
				files: func() []string { return inBucket(ctx, name) }}
		}),
		Entry("that is full, on a volume", "full-disk", func(ctx context.Context, name string) badStore {
			class := shared
			folder, remove, err := cluster.SmallDisk(ctx, k8s, class, twoParts+4<<20)
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(func(ctx context.Context) { Expect(remove(ctx)).To(Succeed()) })
			create(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeClaimSpec{
				StorageClassName: &class,
				AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("64Mi")}},
			}})
			ballast := filepath.Join(folder, "ballast")
			Expect(os.WriteFile(ballast, randomBytes(8<<20), 0o600)).To(Succeed())
			return badStore{store: builders.Volume(name), words: "the volume is full", repair: func() { Expect(os.Remove(ballast)).To(Succeed()) },
				files: func() []string { return filesIn(folder, "ballast") }}
		}),
	)

	It("from a pod without room on its node says so, is not evicted, and is made with more", func(ctx SpecContext) {
		source := podUIDs(ctx, "redis", "source")
		limited := func(limit string) *cachev1alpha1.RedisBackup {
			limits := corev1.ResourceList{corev1.ResourceEphemeralStorage: resource.MustParse(limit)}
			return redisBackup("room", "source", commonv1.BackupOptions{Store: g.store, Verify: ptr.To(false),
				Resources: corev1.ResourceRequirements{Limits: limits}})
		}
		made := limited("16Mi")
		create(ctx, made)
		Eventually(func(g Gomega) {
			refresh(ctx, made)
			degraded := condition(made, commonv1.ConditionDegraded)
			g.Expect(degraded.Reason).To(Equal(commonv1.ReasonBackupRefused), degraded.Message)
			g.Expect(degraded.Message).To(MatchRegexp("the scratch volume may have 7 MiB, and needs at least [0-9]+ MiB: " +
				"set limits.ephemeral-storage in spec.resources to at least [0-9]+ MiB"))
			g.Expect(degraded.Message).NotTo(ContainSubstring("vict"))
		}).WithContext(ctx).Should(Succeed())
		Expect(inBucket(ctx, made.Name)).To(BeEmpty())

		Expect(k8s.Delete(ctx, made)).To(Succeed()) // who has more room does not wait for the next attempt
		eventuallyGone(ctx, made)
		made = limited("64Mi")
		create(ctx, made)
		eventually(ctx, made, commonv1.ConditionComplete, metav1.ConditionTrue)
		Expect(made.Status.Run.Attempt).To(BeEquivalentTo(1), "of %+v", made.Status.Run)
		Expect(podUIDs(ctx, "redis", "source")).To(Equal(source))
	})

	It("that is slow is waited for", func(ctx SpecContext) {
		const rate = 2 << 20
		g.slow(rate)
		DeferCleanup(g.slow, 0)
		made := redisBackup("slow", "source", commonv1.BackupOptions{Store: g.store})
		create(ctx, made)
		start := time.Now()
		eventually(ctx, made, commonv1.ConditionComplete, metav1.ConditionTrue)
		Expect(made.Status.Run.Attempt).To(BeEquivalentTo(1), "of %+v", made.Status.Run)
		Expect(time.Since(start)).To(BeNumerically(">", 2*time.Second*twoParts/rate), "the store was not slow, neither to write nor to read")
		Expect(inBucket(ctx, made.Name)).To(Equal(objectsOf(made.Name, made.Status.LastVerified.Name, "redis")))
	})
})

// filesIn a folder and below it, but for one, sorted.
func filesIn(folder, but string) []string {
	GinkgoHelper()
	var list []string
	Expect(fs.WalkDir(os.DirFS(folder), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && path != but {
			list = append(list, path)
		}
		return err
	})).To(Succeed())
	return list
}
