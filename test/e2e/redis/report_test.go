package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

// rowEntry names what a spec adds to ginkgo's report: its row. Specs run in several processes.
const rowEntry = "row of the report"

var long = os.Getenv("LONG") != ""

var _ = Describe("A Redis under a writer loses no confirmed write, never has two endpoints, and is whole again:", func() {
	It("master killed (kill -9), first alone, then next to a tenant that attacks the operator", Serial,
		SpecTimeout(attackTries*(4*time.Minute+time.Duration(scaled(usualKill).runs+scaled(attackedKill).runs)*timeForFault)), withstandTenant)
	suite, _ := GinkgoConfiguration()
	asked := len(suite.FocusStrings) > 0 // for rows by their names
	for _, f := range faultRows {
		f = scaled(f)
		if f.runs == 0 && !asked || !f.isSelected(suite.FocusStrings) {
			continue
		}
		f.runs = max(f.runs, 1)
		args := []any{SpecTimeout(f.within()), func(ctx SpecContext) { report(ctx, f) }}
		if f.everywhere {
			args = append(args, Serial)
		}
		It(f.name, args...)
	}
})

var _ = ReportAfterSuite("the report", func(report Report) {
	rows, err := rowsOf(report)
	Expect(err).NotTo(HaveOccurred())
	if len(rows) == 0 {
		return
	}
	text := fault.Table(rows) + "\n" + fault.StageTable(rows)
	fmt.Printf("\n%s\n", text)
	if file := os.Getenv("REPORT"); file != "" {
		Expect(os.WriteFile(file, []byte(text), 0o644)).To(Succeed()) //nolint:gosec // for everybody to read
	}
})

// timeForFault is what one may take at most, and the Redis after it.
const timeForFault = 90 * time.Second

// within is the time limit of a row. Its background load must be made and deleted, too.
func (f faultRow) within() time.Duration {
	return 4*time.Minute + time.Duration(f.runs)*(timeForFault+f.lasts) + (1+maxSurplus)*timeForBackground(f.objects)
}

// scaled is a row as this report has it: a short one or a long one.
func scaled(f faultRow) faultRow {
	if long {
		f.runs, f.lasts = f.long, max(f.lasts, f.lastsLong)
	}
	if f.lasts > 0 {
		f.name = fmt.Sprintf("%s for %.0f s", f.name, f.lasts.Seconds())
	}
	return f
}

// report injects a fault as often as its row says, and adds the row to the report.
func report(ctx context.Context, f faultRow) *fault.Row {
	GinkgoHelper()
	row := &fault.Row{Fault: f.name, Failed: true}
	AddReportEntry(rowEntry, row, ReportEntryVisibilityNever)
	restore := withdraw(ctx, f.without)
	var others *backgroundLoad
	for done := 0; done < f.runs; done += sitting {
		s, leave := shareSubject(ctx, f, min(sitting, f.runs-done))
		if done == 0 { // the Redis comes first, or it would wait for all that others have made
			others = startBackground(ctx, f, s)
		}
		s.background = others
		s.injectAll(ctx, f, min(sitting, f.runs-done), row)
		Expect(leave(ctx)).To(Succeed())
	}
	others.end(ctx)
	restore(ctx)
	row.Failed = false
	return row
}

// rowsOf returns the rows of all processes, in the order of faultRows.
func rowsOf(report Report) ([]fault.Row, error) {
	var rows []fault.Row
	for _, spec := range report.SpecReports {
		for _, entry := range spec.ReportEntries {
			if entry.Name != rowEntry {
				continue
			}
			text, err := json.Marshal(entry.GetRawValue())
			if err != nil {
				return nil, err
			}
			var row fault.Row
			if err := json.Unmarshal(text, &row); err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
	}
	order := func(row fault.Row) int {
		return slices.IndexFunc(faultRows, func(f faultRow) bool { return row.Fault == f.name || strings.HasPrefix(row.Fault, f.name+" for ") })
	}
	slices.SortStableFunc(rows, func(a, b fault.Row) int { return order(a) - order(b) })
	return rows, nil
}

// injectAll runs one sitting of a fault, then counts what is lost.
func (s *subject) injectAll(ctx context.Context, f faultRow, times int, row *fault.Row) {
	GinkgoHelper()
	DeferCleanup(func() {
		if CurrentSpecReport().Failed() {
			GinkgoWriter.Println("--- the servers, by their own words\n" + strings.Join(s.servers.Timeline(), "\n"))
		}
	})
	for n := range times {
		row.Runs = append(row.Runs, s.inject(ctx, f, n))
	}
	s.stop()
	confirmed, plain := s.lost(ctx, s.confirming), s.lost(ctx, s.plain)
	row.Confirmed, row.ConfirmedLost = row.Confirmed+s.confirming.Written(), row.ConfirmedLost+len(confirmed)
	row.Plain, row.PlainLost = row.Plain+s.plain.Written(), row.PlainLost+len(plain)
	Expect(confirmed).To(BeEmpty(), "of %d confirmed writes", s.confirming.Written())
	if f.planned {
		Expect(plain).To(BeEmpty(), "a planned move loses nothing, of %d writes", s.plain.Written())
	}
	Expect(s.servers.Emptied()).To(BeEmpty(), "nodes in sync lost all their keys")
}

// inject a fault once.
func (s *subject) inject(ctx context.Context, f faultRow, n int) fault.Run {
	GinkgoHelper()
	s.waitUntilHealed(ctx)
	if f.prepare != nil {
		Expect(f.prepare(ctx, s)).To(Succeed())
		s.waitUntilHealed(ctx)
	}
	var master corev1.Pod
	Expect(k8s.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.Status.Master}, &master)).To(Succeed())
	epoch, due, syncs := s.Status.Epoch, int64(0), s.servers.FullSyncs()
	if f.moves {
		due = epoch
	}
	end := func() error { return nil }
	if f.amid != nil {
		var err error
		end, err = f.amid(ctx, s, n)
		Expect(err).NotTo(HaveOccurred())
	}
	s.confirming.Outage()

	struck, writes := time.Now(), s.background.writesSoFar()
	undo, err := f.inject(ctx, s, master, n)
	Expect(err).NotTo(HaveOccurred())
	if undo != nil {
		undo = sync.OnceValue(undo)
		DeferCleanup(undo)
		stay(ctx, f.lasts)
		Expect(undo()).To(Succeed())
	}
	Expect(end()).To(Succeed())
	written := s.confirming.Written()
	Eventually(s.healed).WithContext(ctx).WithArguments(due, written+enoughWrites).Should(Succeed())
	Expect(s.background.hasProceeded(writes)).To(Succeed())

	if !f.moves {
		Expect(s.Status.Epoch).To(Equal(epoch), "another master for nothing")
	}
	crowded, err := s.endpoints.Crowded()
	Expect(err).NotTo(HaveOccurred())
	Expect(crowded).To(BeEmpty(), "more than one endpoint")
	since, _, err := s.servers.FullyReplicatedSince(s.size())
	Expect(err).NotTo(HaveOccurred())
	outage := s.confirming.Outage()
	return fault.Run{
		Failovers:   s.Status.Epoch - epoch,
		Unavailable: outage.Length(),
		Redundant:   max(0, since.Sub(struck)),
		FullSyncs:   s.servers.FullSyncs() - syncs,
		Stages:      s.stages(epoch, struck, outage),
	}
}

// stages of a single change of the master, by the operator's own record.
func (s *subject) stages(epoch int64, struck time.Time, outage fault.Gap) *fault.Stages {
	change := s.Status.LastFailover
	if s.Status.Epoch != epoch+1 || change == nil || change.Epoch != s.Status.Epoch || change.PromotedAt == nil || change.RoutedAt == nil {
		return nil
	}
	return &fault.Stages{
		Noticed:  change.DetectedAt.Sub(struck),
		Promoted: change.PromotedAt.Sub(change.DetectedAt.Time),
		Routed:   change.RoutedAt.Sub(change.PromotedAt.Time),
		Served:   max(0, outage.To.Sub(change.RoutedAt.Time)),
	}
}

// lost reads back what was confirmed to a writer.
func (s *subject) lost(ctx context.Context, w *fault.Writer) (missing []string) {
	GinkgoHelper()
	Eventually(func(ctx context.Context) (err error) {
		missing, err = w.Lost(ctx)
		return err
	}).WithContext(ctx).Should(Succeed())
	return missing
}
