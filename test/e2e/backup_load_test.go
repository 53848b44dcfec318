package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

// runnerLimit is what the runner may hold in memory, in bytes, however large the data is.
const runnerLimit = 64 << 20

// scale of a measurement under load.
type scale struct {
	data   int64         // in bytes
	rounds int           // of writes without a backup and with one, in turn
	quiet  int           // how many writes there are in a round without a backup
	limit  time.Duration // of a backup
}

func loadScale() scale {
	if os.Getenv("LONG") != "" {
		return scale{data: 1 << 30, rounds: 3, quiet: 60 * paceOfWrites, limit: time.Hour}
	}
	return scale{data: 24 << 20, rounds: 1, quiet: 2 * paceOfWrites, limit: eventuallyTimeout}
}

// secondsPerGiB is how long so many bytes take, as if a GiB took as many times longer.
func secondsPerGiB(took time.Duration, size int64) float64 {
	return took.Seconds() * (1 << 30) / float64(size)
}

// It holds nothing about times: the report is for people. With LONG=1 run it alone, on a calm machine.
var _ = Describe("Backups of much data", Label(faults), longest, func() {
	// measure backs the source up under a paced writer. With much data it then has another object start with the last backup.
	measure := func(ctx context.Context, kind string, b bucket, write func(ctx context.Context, n int) error,
		again func(commonv1.BackupReference) object) {
		GinkgoHelper()
		to := loadScale()
		watching, enough := context.WithCancel(ctx)
		defer enough()
		peaks := fault.WatchPeaks(watching, runnerProgram, `"folder":"`+namespace+"/")
		w := pacing(ctx, write)
		report := newLoadReport()
		for round := range to.rounds {
			w.take()
			Eventually(w.count).WithContext(ctx).Should(BeNumerically(">=", to.quiet), "%v", w.failed())
			report.add(round, w.take(), 0, 0)

			made := newBackup(kind, fmt.Sprint("round-", round), "source", commonv1.BackupOptions{Store: b.store})
			start := time.Now()
			create(ctx, made)
			Eventually(func(g Gomega) {
				refresh(ctx, made)
				g.Expect(condition(made, commonv1.ConditionComplete).Status).To(Equal(metav1.ConditionTrue), "%+v", made.GetBackupStatus().Run)
			}).WithContext(ctx).WithTimeout(to.limit).Should(Succeed())
			took, times := time.Since(start), w.take()
			Expect(times).NotTo(BeEmpty(), "no client could write during the backup")
			Expect(made.GetBackupStatus().LastVerified.Size).To(BeNumerically(">", to.data), "the data can be compressed, or is not there")
			report.add(round, times, took, to.data)
		}
		Expect(w.failed()).To(BeEmpty())
		if to.data >= 1<<30 {
			start, restored := time.Now(), again(commonv1.BackupReference{Store: b.store, Name: fmt.Sprint("round-", to.rounds-1)})
			create(ctx, restored)
			eventuallyReady(ctx, restored)
			report.addRestore(time.Since(start), to.data)
		}
		report.addPeaks(peaks.Bytes())
		AddReportEntry(fmt.Sprintf("%s, %d MiB that cannot be compressed, %d writes/s asked for", kind, to.data>>20, paceOfWrites),
			report.String())
		// Little data may pass through the runner's memory between two looks at it.
		Expect(peaks.Bytes()).To(HaveKeyWithValue("backup", BeNumerically(">", 0)))
		Expect(peaks.Bytes()).To(HaveEach(BeNumerically("<=", runnerLimit)))
	}

	It("of an EtcdCluster are made while it is written to, in little memory", func(ctx SpecContext) {
		size := loadScale().data
		source := builders.EtcdCluster("source").Storage("256Mi")
		if size > 64<<20 {
			source.Storage("9Gi").Quota("4Gi")
		}
		b, e := startS3(ctx, false), source.Build()
		create(ctx, e)
		eventuallyReady(ctx, e)
		etcd := dialEtcd(e, nil)
		fillEtcd(ctx, etcd, size)
		measure(ctx, "etcd", b, func(ctx context.Context, n int) error {
			_, err := etcd.Put(ctx, fmt.Sprint("small-", n%1000), fmt.Sprint(n))
			return err
		}, func(from commonv1.BackupReference) object {
			return builders.EtcdCluster("again").Size(1).Storage("9Gi").Quota("4Gi").With(func(s *databasev1alpha1.EtcdClusterSpec) {
				s.Bootstrap = &databasev1alpha1.EtcdBootstrap{Backup: from}
			}).Build()
		})
	})

	It("of a Redis are made while it is written to, in little memory", func(ctx SpecContext) {
		size := loadScale().data
		b, r := startS3(ctx, false), builders.Redis("source").Size(2).Build()
		create(ctx, r)
		eventuallyReady(ctx, r)
		client := redisClient(ctx, r, r.Name).WithTimeout(pacedLimit)
		fillRedis(ctx, client, size)
		measure(ctx, "redis", b, func(ctx context.Context, n int) error {
			return client.Set(ctx, fmt.Sprint("small-", n%1000), n, 0).Err()
		}, func(from commonv1.BackupReference) object {
			return builders.Redis("again").Size(1).With(func(s *cachev1alpha1.RedisSpec) {
				s.Bootstrap = &cachev1alpha1.RedisBootstrap{Backup: from}
			}).Build()
		})
	})
})

// loadReport is a table of what writers noticed.
type loadReport struct {
	text strings.Builder
	rows *tabwriter.Writer
}

func newLoadReport() *loadReport {
	r := &loadReport{}
	r.rows = tabwriter.NewWriter(&r.text, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(r.rows, "round\tbackup\twrites\tp50\tp99\tmax\ts\ts/GiB")
	return r
}

// add what a round's writes took, and the backup, if there was one.
func (l *loadReport) add(round int, times []time.Duration, took time.Duration, size int64) {
	backup, seconds, each := "none", "", ""
	if took > 0 {
		backup, seconds, each = "under way", fmt.Sprintf("%.1f", took.Seconds()), fmt.Sprintf("%.1f", secondsPerGiB(took, size))
	}
	_, _ = fmt.Fprintf(l.rows, "%d\t%s\t%d\t%s\t%s\t%s\t%s\t%s\n", round+1, backup, len(times), rounded(quantile(times, 0.5)),
		rounded(quantile(times, 0.99)), rounded(times[len(times)-1]), seconds, each)
}

// addRestore reports how long it took until an object that starts with the backup was ready.
func (l *loadReport) addRestore(took time.Duration, size int64) {
	_, _ = fmt.Fprintf(l.rows, "restore\tread\t\t\t\t\t%.1f\t%.1f\n", took.Seconds(), secondsPerGiB(took, size))
}

// addPeaks of the runner's memory, by step.
func (l *loadReport) addPeaks(peaks map[string]int64) {
	_, _ = fmt.Fprint(l.rows, "most memory of the runner:")
	for _, step := range slices.Sorted(maps.Keys(peaks)) {
		_, _ = fmt.Fprintf(l.rows, " %s %.1f MiB;", step, float64(peaks[step])/(1<<20))
	}
	_, _ = fmt.Fprintln(l.rows)
}

func (l *loadReport) String() string {
	_ = l.rows.Flush() // into memory
	return "\n" + l.text.String()
}

func rounded(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }
