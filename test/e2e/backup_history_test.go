package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/s3"
)

// folder is where the backups of one name are in a bucket.
type folder struct {
	bucket
	backup string
}

// write puts an object into the bucket, as anybody may who has the store's key.
func (f folder) write(ctx context.Context, key string, content []byte) {
	GinkgoHelper()
	_, err := f.PutObject(ctx, s3.Bucket, key, bytes.NewReader(content), int64(len(content)), minio.PutObjectOptions{})
	Expect(err).NotTo(HaveOccurred())
}

// read gets an object from the bucket.
func (f folder) read(ctx context.Context, key string) []byte {
	GinkgoHelper()
	object, err := f.GetObject(ctx, s3.Bucket, key, minio.GetObjectOptions{})
	Expect(err).NotTo(HaveOccurred())
	content, err := io.ReadAll(object)
	Expect(err).NotTo(HaveOccurred())
	return content
}

// forge writes three empty objects under the names of a verified backup of that time, and returns its item.
func (f folder) forge(ctx context.Context, at time.Time) string {
	GinkgoHelper()
	item := at.UTC().Format("20060102T150405Z") + "-00000000"
	for _, key := range objectsOf(f.backup, item, "redis") {
		f.write(ctx, key, nil)
	}
	return item
}

// copyAs writes a verified backup once more, dated at another time, and returns the copy's item.
func (f folder) copyAs(ctx context.Context, item string, at time.Time) string {
	GinkgoHelper()
	dated := at.UTC().Format("20060102T150405Z") + "-00000000"
	from, to := objectsOf(f.backup, item, "redis"), objectsOf(f.backup, dated, "redis")
	var manifest map[string]any
	Expect(json.Unmarshal(f.read(ctx, from[1]), &manifest)).To(Succeed())
	manifest["item"], manifest["time"] = dated, at.UTC()
	text, err := json.Marshal(manifest)
	Expect(err).NotTo(HaveOccurred())
	f.write(ctx, to[0], f.read(ctx, from[0]))
	f.write(ctx, to[1], text)
	f.write(ctx, to[2], nil)
	return dated
}

// remove deletes a verified backup from the bucket.
func (f folder) remove(ctx context.Context, item string) {
	GinkgoHelper()
	for _, key := range objectsOf(f.backup, item, "redis") {
		Expect(f.RemoveObject(ctx, s3.Bucket, key, minio.RemoveObjectOptions{})).To(Succeed())
	}
}

// verified are the items of a backup's folder that are marked as verified, the oldest first.
func (f folder) verified(ctx context.Context) (items []string) {
	GinkgoHelper()
	for _, key := range f.names(ctx) {
		file, in := strings.CutPrefix(key, namespace+"/"+f.backup+"/")
		if item, is := strings.CutSuffix(file, ".redis.verified"); in && is {
			items = append(items, item)
		}
	}
	return items
}

var _ = Describe("Retention", Label(faults), longest, func() {
	It("deletes nothing for a forged item, a wrong date, another source or data that was lost", func(ctx SpecContext) {
		f := folder{startS3(ctx, true), "nightly"}
		single := func(name string) *cachev1alpha1.Redis {
			r := builders.Redis(name).Size(1).Build()
			create(ctx, r)
			return r
		}
		r, other := single("data"), single("other")
		eventuallyReady(ctx, r)
		fill := func(r *cachev1alpha1.Redis, key string) {
			GinkgoHelper()
			Eventually(redisClient(ctx, r, r.Name).Set(ctx, key, "here", 0).Err).WithContext(ctx).Should(Succeed())
		}
		fill(r, "first")
		// run makes one backup more, in the folder of all of them.
		run := func(source string, keepLast int32, annotations map[string]string) *cachev1alpha1.RedisBackup {
			GinkgoHelper()
			made := builders.RedisBackup(f.backup, source, f.store).With(func(s *cachev1alpha1.RedisBackupSpec) {
				s.Retention = &commonv1.BackupRetention{KeepLast: ptr.To(keepLast)}
			}).Build()
			made.Annotations = annotations
			create(ctx, made)
			eventually(ctx, made, commonv1.ConditionComplete, metav1.ConditionTrue)
			Expect(k8s.Delete(ctx, made)).To(Succeed())
			eventuallyGone(ctx, made)
			return made
		}
		first := run(r.Name, 2, nil).Status.LastVerified.Name

		By("counting no empty object with a good name")
		forged := []string{f.forge(ctx, time.Now().Add(time.Minute)), f.forge(ctx, time.Now().Add(2*time.Minute))}
		second := run(r.Name, 2, nil).Status.LastVerified.Name
		Expect(f.verified(ctx)).To(ConsistOf(append(forged, first, second)))

		By("keeping what another source has made under the same name")
		eventuallyReady(ctx, other)
		fill(other, "other")
		third := run(other.Name, 1, nil).Status.LastVerified.Name
		Expect(f.verified(ctx)).To(ConsistOf(append(forged, first, second, third)))
		for _, item := range forged {
			f.remove(ctx, item)
		}
		restored := builders.Redis("restored").Size(1).With(func(s *cachev1alpha1.RedisSpec) {
			s.Bootstrap = &cachev1alpha1.RedisBootstrap{Backup: commonv1.BackupReference{Store: f.store, Name: f.backup, Source: string(r.UID)}}
		}).Build()
		create(ctx, restored)

		By("holding while a backup is dated after the present time")
		ahead := f.copyAs(ctx, second, time.Now().Add(24*time.Hour))
		made := run(r.Name, 1, nil)
		Expect(made.Status.RetentionHeld).To(ContainSubstring("is dated after the present time"))
		fourth := made.Status.LastVerified.Name
		Expect(f.verified(ctx)).To(ConsistOf(first, second, third, fourth, ahead))
		f.remove(ctx, ahead)
		eventuallyReady(ctx, restored)
		Expect(redisKeys(ctx, redisClient(ctx, restored, restored.Name))).To(ConsistOf("first"), "the latest backup is of another source")

		By("holding after all data was lost, until a human has seen it")
		Expect(k8s.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(namespace),
			client.MatchingLabels{"app.kubernetes.io/instance": r.Name})).To(Succeed())
		Eventually(func(g Gomega) {
			refresh(ctx, r)
			g.Expect(r.Status.DatasetEpoch).To(BeNumerically(">", 1))
		}).WithContext(ctx).Should(Succeed())
		eventuallyReady(ctx, r)
		fill(r, "second")
		made = run(r.Name, 1, nil)
		Expect(made.Status.RetentionHeld).To(ContainSubstring(fmt.Sprintf("data was lost (%s)", commonv1.ReasonDatasetLost)))
		fifth := made.Status.LastVerified.Name
		Expect(f.verified(ctx)).To(ConsistOf(first, second, third, fourth, fifth))
		made = run(r.Name, 1, map[string]string{commonv1.AllowRetention: fifth})
		Expect(made.Status.RetentionHeld).To(BeEmpty())
		// The fourth is the last of the data that was lost, and the third is of the other source.
		Expect(f.verified(ctx)).To(ConsistOf(third, fourth, fifth, made.Status.LastVerified.Name))
	})
})
