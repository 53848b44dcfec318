package integration

import (
	"encoding/json"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

// etcdBackup is one of cluster "data" that says what change says.
func etcdBackup(change ...func(*databasev1alpha1.EtcdBackupSpec)) *databasev1alpha1.EtcdBackup {
	b := builders.EtcdBackup("nightly", "data", builders.Bucket("backups"))
	for _, c := range change {
		b.With(c)
	}
	return b.Build()
}

func byS3(change func(*commonv1.S3Store)) client.Object {
	return etcdBackup(func(s *databasev1alpha1.EtcdBackupSpec) { change(s.Store.S3) })
}

func byVolume(path string) client.Object {
	return etcdBackup(func(s *databasev1alpha1.EtcdBackupSpec) {
		s.Store = builders.Volume("claim")
		s.Store.Volume.Path = path
	})
}

func scheduled(schedule string) func(*databasev1alpha1.EtcdBackupSpec) {
	return func(s *databasev1alpha1.EtcdBackupSpec) { s.Schedule = schedule }
}

func deadlineOf(d time.Duration) client.Object {
	return etcdBackup(func(s *databasev1alpha1.EtcdBackupSpec) { s.StartingDeadline = &metav1.Duration{Duration: d} })
}

func retention(r commonv1.BackupRetention) client.Object {
	return etcdBackup(func(s *databasev1alpha1.EtcdBackupSpec) { s.Retention = &r })
}

// restoreOf an EtcdCluster, by a deadline if there is one.
func restoreOf(cluster string, deadline ...time.Duration) *databasev1alpha1.EtcdRestore {
	r := &databasev1alpha1.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Spec: databasev1alpha1.EtcdRestoreSpec{ClusterName: cluster,
		Backup: commonv1.BackupReference{Store: builders.Bucket("backups"), Name: "nightly"}}}
	for _, d := range deadline {
		r.Spec.StartingDeadline = &metav1.Duration{Duration: d}
	}
	return r
}

// fullBackup sets every optional field.
func fullBackup() *databasev1alpha1.EtcdBackup {
	return etcdBackup(func(s *databasev1alpha1.EtcdBackupSpec) {
		s.Store.S3 = &commonv1.S3Store{Bucket: "my.backups-1", Prefix: "a/b.c", Endpoint: "https://s3.example.org:9000", Region: "eu-1",
			SecretName:   "login",
			CASecretName: "ca", PathStyle: ptr.To(true)}
		s.Schedule, s.TimeZone, s.StartingDeadline = "30 2 * * 1-5", "Europe/Berlin", &metav1.Duration{Duration: 24 * time.Hour}
		s.Retention = &commonv1.BackupRetention{KeepLast: ptr.To[int32](10_000), KeepFor: &metav1.Duration{Duration: time.Minute}}
		s.Suspend, s.Verify, s.Compression = true, ptr.To(false), commonv1.CompressNone
		s.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "pull"}}
		s.Scheduling = builders.FullPodOptions().Scheduling
	})
}

var _ = Describe("Backup", func() {
	DescribeTable("is refused", func(obj client.Object, field string) { reject(obj, field) },
		Entry("no cluster", builders.EtcdBackup("a", "", builders.Bucket("b-1")).Build(), "spec.clusterName"),
		Entry("a cluster in capitals", builders.EtcdBackup("a", "Data", builders.Bucket("b-1")).Build(), "spec.clusterName"),
		Entry("no redis", builders.RedisBackup("a", "", builders.Bucket("b-1")).Build(), "spec.redisName"),
		Entry("no store", builders.EtcdBackup("a", "data", commonv1.BackupStore{}).Build(), "store is either s3 or volume"),
		Entry("two stores", builders.EtcdBackup("a", "data",
			commonv1.BackupStore{S3: builders.Bucket("b-1").S3, Volume: builders.Volume("c").Volume}).Build(), "store is either s3 or volume"),
		Entry("a bucket in capitals", byS3(func(s *commonv1.S3Store) { s.Bucket = "Backups" }), "spec.store.s3.bucket"),
		Entry("a prefix that leads up", byS3(func(s *commonv1.S3Store) { s.Prefix = "a/../b" }), "prefix"),
		Entry("a prefix with a / at its end", byS3(func(s *commonv1.S3Store) { s.Prefix = "a/" }), "spec.store.s3.prefix"),
		Entry("an endpoint without https", byS3(func(s *commonv1.S3Store) { s.Endpoint = "s3.example.org" }), "spec.store.s3.endpoint"),
		Entry("an endpoint with a password", byS3(func(s *commonv1.S3Store) { s.Endpoint = "https://me:secret@s3.example.org" }),
			"spec.store.s3.endpoint"),
		Entry("no login", byS3(func(s *commonv1.S3Store) { s.SecretName = "" }), "spec.store.s3.secretName"),
		Entry("no claim", builders.EtcdBackup("a", "data", builders.Volume("")).Build(), "spec.store.volume.claimName"),
		Entry("a path that leads up", byVolume(".."), "path"),
		Entry("an absolute path", byVolume("/srv"), "spec.store.volume.path"),
		Entry("a time zone without schedule", etcdBackup(func(s *databasev1alpha1.EtcdBackupSpec) { s.TimeZone = "UTC" }),
			"timeZone needs schedule"),
		Entry("a time zone within the schedule", etcdBackup(scheduled("TZ=UTC 0 0 * * *")), "schedule: set timeZone"),
		Entry("a schedule too long", etcdBackup(scheduled(strings.Repeat("*", 129))), "spec.schedule"),
		Entry("a short deadline", deadlineOf(59*time.Second), "startingDeadline"),
		Entry("a long deadline", deadlineOf(24*time.Hour+time.Second), "startingDeadline"),
		Entry("a negative deadline", deadlineOf(-time.Hour), "spec.startingDeadline"),
		Entry("retention of nothing", retention(commonv1.BackupRetention{}), "retention needs keepLast or keepFor"),
		Entry("retention of none", retention(commonv1.BackupRetention{KeepLast: ptr.To[int32](0)}), "spec.retention.keepLast"),
		Entry("retention for seconds", retention(commonv1.BackupRetention{KeepFor: &metav1.Duration{Duration: time.Second}}),
			"retention.keepFor"),
		Entry("a restore of no cluster", restoreOf(""), "spec.clusterName"),
		Entry("a restore of a cluster in capitals", restoreOf("Data"), "spec.clusterName"),
		Entry("a restore with a short deadline", restoreOf("data", 59*time.Second), "startingDeadline"),
		Entry("a restore with a long deadline", restoreOf("data", 24*time.Hour+time.Second), "startingDeadline"),
		Entry("a restore with a negative deadline", restoreOf("data", -time.Hour), "spec.startingDeadline"),
		Entry("another compression", etcdBackup(func(s *databasev1alpha1.EtcdBackupSpec) { s.Compression = "Zstd" }), "spec.compression"),
		Entry("a name too long for its pods", builders.EtcdBackup(strings.Repeat("a", 53), "data", builders.Bucket("b-1")).Build(),
			"metadata.name"),
		Entry("a name with a dot", builders.RedisBackup("a.b", "cart", builders.Bucket("b-1")).Build(), "metadata.name"),
	)

	DescribeTable("is accepted at the edge", func(obj client.Object) { accept(obj) },
		Entry("every field", fullBackup()),
		Entry("a restore", restoreOf("data", 24*time.Hour)),
		Entry("a name of 52", builders.RedisBackup(strings.Repeat("a", 52), "cart", builders.Volume("claim")).Build()),
		Entry("a volume's folder", byVolume("a/b")),
		Entry("a deadline of a minute", deadlineOf(time.Minute)),
	)

	It("keeps to its store, its cluster, and whether it has a schedule; all else can change", func() {
		change := func(field string, change func(*databasev1alpha1.EtcdBackupSpec)) {
			GinkgoHelper()
			rejectUpdate(fullBackup(), func(o client.Object) { change(&o.(*databasev1alpha1.EtcdBackup).Spec) }, field)
		}
		change("clusterName cannot change", func(s *databasev1alpha1.EtcdBackupSpec) { s.ClusterName = "other" })
		change("store cannot change", func(s *databasev1alpha1.EtcdBackupSpec) { s.Store.S3.Prefix = "c" })
		change("schedule cannot be added or dropped", func(s *databasev1alpha1.EtcdBackupSpec) { s.Schedule, s.TimeZone = "", "" })
		rejectUpdate(etcdBackup(), func(o client.Object) { o.(*databasev1alpha1.EtcdBackup).Spec.Schedule = "@daily" },
			"schedule cannot be added or dropped")
		acceptUpdate(fullBackup(), func(o client.Object) {
			s := &o.(*databasev1alpha1.EtcdBackup).Spec
			s.Schedule, s.TimeZone, s.StartingDeadline, s.Retention, s.Suspend, s.Verify, s.Compression = "@daily", "", nil, nil, false, nil,
				commonv1.CompressGzip
		})
	})

	It("is due by its schedule, which can change, and is held back", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		o := operate(namespace)
		b := etcdBackup(scheduled("0 0 29 2 *"))
		b.Namespace = namespace
		Expect(admin.Create(ctx, b)).To(Succeed())
		next := func(text string) {
			GinkgoHelper()
			Eventually(func(g Gomega) {
				g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(b), b)).To(Succeed())
				g.Expect(b.Status.ObservedGeneration).To(Equal(b.Generation))
				if text == "" {
					g.Expect(b.Status.Next).To(BeNil())
				} else {
					g.Expect(b.Status.Next).NotTo(BeNil())
					g.Expect(b.Status.Next.UTC().Format("01-02 15:04")).To(Equal(text))
				}
			}).Should(Succeed())
		}
		next("02-29 00:00")
		Eventually(checkCondition).WithArguments(ctx, b, commonv1.ConditionReady, metav1.ConditionTrue,
			commonv1.ReasonBackupNotDue).Should(Succeed())
		waitForRest(o)
		set := func(change func(*databasev1alpha1.EtcdBackupSpec)) {
			GinkgoHelper()
			update(ctx, b, func(o client.Object) { change(&o.(*databasev1alpha1.EtcdBackup).Spec) })
		}
		set(func(s *databasev1alpha1.EtcdBackupSpec) { s.TimeZone = "America/New_York" })
		next("02-29 05:00")
		set(func(s *databasev1alpha1.EtcdBackupSpec) { s.Suspend = true })
		next("")
		Eventually(checkCondition).WithArguments(ctx, b, commonv1.ConditionSuspended, metav1.ConditionTrue).Should(Succeed())
		set(func(s *databasev1alpha1.EtcdBackupSpec) { s.Suspend = false })
		next("02-29 05:00")
		for field, change := range map[string]func(*databasev1alpha1.EtcdBackupSpec){
			"schedule: ": scheduled("soon"),
			"timeZone: ": func(s *databasev1alpha1.EtcdBackupSpec) { s.Schedule, s.TimeZone = "@daily", "Europe/Bonn" },
		} {
			set(change)
			next("")
			Expect(checkCondition(ctx, b, commonv1.ConditionDegraded, metav1.ConditionTrue, commonv1.ReasonInvalidSpec)).To(Succeed())
			read, err := live(ctx, b)
			Expect(err).NotTo(HaveOccurred())
			Expect(conditionOf(read, commonv1.ConditionDegraded).Message).To(HavePrefix(field))
		}
		waitForRest(o)
		set(func(s *databasev1alpha1.EtcdBackupSpec) { s.Schedule, s.TimeZone = "0 0 29 2 *", "" })
		next("02-29 00:00")
		Eventually(checkCondition).WithArguments(ctx, b, commonv1.ConditionDegraded, metav1.ConditionFalse).Should(Succeed())
		Expect(o.Calls(func(c fault.Call) bool { return c.Resource == "pods" && c.Writes() })).To(BeEmpty())
	})

	It("waits for its cluster, makes a backup, and reports it", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		var secrets []fault.Call // all about Secrets, from the operator's start on
		o := install{namespaces: []string{namespace}, images: images, decide: func(c fault.Call) fault.Fault {
			if c.Resource == "secrets" {
				secrets = append(secrets, c)
			}
			return fault.None
		}}.operate()
		b := etcdBackup()
		b.Namespace = namespace
		login := b.Spec.Store.S3.SecretName
		Expect(admin.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: login},
			StringData: map[string]string{"accessKeyID": "key", "secretAccessKey": "hidden"}})).To(Succeed())
		Expect(admin.Create(ctx, b)).To(Succeed())
		Eventually(checkCondition).WithArguments(ctx, b, commonv1.ConditionProgressing, metav1.ConditionTrue,
			commonv1.ReasonSourceNotReady).Should(Succeed())
		waitForRest(o)
		standingEtcd(ctx, namespace)

		pod := startedPod(ctx, b)
		finish(ctx, pod)
		Eventually(checkCondition).WithArguments(ctx, b, commonv1.ConditionComplete, metav1.ConditionTrue,
			commonv1.ReasonBackupVerified).Should(Succeed())
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(b), b)).To(Succeed())
		Expect(b.Status.Last).To(HaveField("Name", b.Status.Run.Item))
		Expect(b.Status.LastVerified).To(Equal(b.Status.Last))
		Expect(b.Status.Items).To(HaveLen(1))
		Expect(b.Status.Run.Image).To(Equal(ownImage))
		Eventually(podsOf).WithArguments(ctx, b).Should(BeEmpty())
		Eventually(func(g Gomega) {
			var events eventsv1.EventList
			g.Expect(admin.List(ctx, &events, client.InNamespace(namespace))).To(Succeed())
			g.Expect(events.Items).To(ContainElement(And(HaveField("Reason", commonv1.ReasonBackupVerified),
				HaveField("Regarding.Kind", "EtcdBackup"))))
		}).Should(Succeed())
		waitForRest(o)
		// The manager knows the store's Secret by its name alone. Of all Secrets it reads the metadata, and the data of those that it has made.
		o.Between(func() {
			Expect(secrets).NotTo(Or(BeEmpty(), ContainElement(HaveField("Name", login))))
			Expect(secrets).To(HaveEach(Or(HaveField("Name", Not(BeEmpty())), HaveField("Bare", true),
				HaveField("Selector", "app.kubernetes.io/managed-by=mainstay-operator"))))
		})
	})

	It("says what the store says, tries again, and deletes what was left", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		standingEtcd(ctx, namespace)
		b := etcdBackup()
		b.Namespace = namespace
		Expect(admin.Create(ctx, b)).To(Succeed())
		first := startedPod(ctx, b)
		end(ctx, first, "backup", 1, runnerResult{Error: "NoSuchBucket: backups", Permanent: true})
		Eventually(checkCondition).WithArguments(ctx, b, commonv1.ConditionDegraded, metav1.ConditionTrue,
			commonv1.ReasonBackupRefused).Should(Succeed())
		read, err := live(ctx, b)
		Expect(err).NotTo(HaveOccurred())
		Expect(conditionOf(read, commonv1.ConditionDegraded).Message).To(ContainSubstring("NoSuchBucket: backups"))
		Eventually(podsOf).WithArguments(ctx, b).Should(BeEmpty())

		update := func() error { // as if five minutes had gone by
			if err := admin.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
				return err
			}
			b.Status.Run.FinishTime = ptr.To(metav1.NewTime(b.Status.Run.FinishTime.Add(-5 * time.Minute)))
			return admin.Status().Update(ctx, b)
		}
		Eventually(update).Should(Succeed())
		second := startedPod(ctx, b)
		Expect(second.Name).NotTo(Equal(first.Name))
		Expect(taskIn(second, "backup").Leftovers).To(ConsistOf(taskIn(first, "backup").Item))
		Expect(checkCondition(ctx, b, commonv1.ConditionDegraded, metav1.ConditionTrue, commonv1.ReasonBackupRefused)).To(Succeed(),
			"until the attempt says otherwise")
		finish(ctx, second)
		Eventually(checkCondition).WithArguments(ctx, b, commonv1.ConditionDegraded, metav1.ConditionFalse).Should(Succeed())
		Expect(checkCondition(ctx, b, commonv1.ConditionComplete, metav1.ConditionTrue)).To(Succeed())
	})

	It("is made of two kinds at once, under the same name", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		operate(namespace)
		standingEtcd(ctx, namespace)
		standingRedis(ctx, namespace)
		e := builders.EtcdBackup("same", "data", builders.Volume("claim")).In(namespace).Build()
		r := builders.RedisBackup("same", "cart",
			builders.Volume("claim")).In(namespace).With(func(s *cachev1alpha1.RedisBackupSpec) { s.Verify = ptr.To(false) }).Build()
		Expect(admin.Create(ctx, e)).To(Succeed())
		Expect(admin.Create(ctx, r)).To(Succeed())
		etcdPod, redisPod := startedPod(ctx, e), startedPod(ctx, r)
		Expect(etcdPod.Spec.InitContainers).To(HaveLen(4))
		Expect(redisPod.Spec.InitContainers).To(HaveLen(1))
		task := taskIn(redisPod, "backup")
		Expect(task.Kind).To(Equal("redis"))
		Expect(task.Source.Endpoints).To(ConsistOf("cart-0.cart-headless." + namespace + ".svc:6379"))
		finish(ctx, redisPod)
		finish(ctx, etcdPod)
		Eventually(checkCondition).WithArguments(ctx, r, commonv1.ConditionComplete, metav1.ConditionTrue,
			commonv1.ReasonBackupWritten).Should(Succeed())
		Eventually(checkCondition).WithArguments(ctx, e, commonv1.ConditionComplete, metav1.ConditionTrue,
			commonv1.ReasonBackupVerified).Should(Succeed())
	})

	It("takes its pod along when it is deleted, and starts over under the same name", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		o := install{rights: namespacedRights(ctx, namespace), namespaces: []string{namespace}, own: namespace, images: images}.operate()
		standingEtcd(ctx, namespace)
		b := etcdBackup()
		b.Namespace = namespace
		Expect(admin.Create(ctx, b)).To(Succeed())
		first := startedPod(ctx, b)
		Expect(admin.Delete(ctx, b)).To(Succeed())
		Eventually(podsOf).WithArguments(ctx, b).Should(BeEmpty())
		waitForRest(o)
		b = etcdBackup()
		b.Namespace = namespace
		Expect(admin.Create(ctx, b)).To(Succeed())
		second := startedPod(ctx, b)
		Expect(second.Name).NotTo(Equal(first.Name))
		Expect(taskIn(second, "backup").Leftovers).To(BeEmpty())
	})
})

// taskIn is what a container of the pod is passed.
func taskIn(pod *corev1.Pod, container string) runnerTask {
	GinkgoHelper()
	var task runnerTask
	for _, c := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
		if c.Name == container {
			Expect(json.Unmarshal([]byte(c.Command[len(c.Command)-1]), &task)).To(Succeed())
		}
	}
	Expect(task.Item).NotTo(BeEmpty())
	return task
}
