package fault

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// enough runs to speak of percentiles.
const enough = 100

// Run is what one fault was to users.
type Run struct {
	// Failovers is by how much the epoch rose.
	Failovers int64
	// Unavailable is the longest time without a confirmed write.
	Unavailable time.Duration
	// Redundant is how long after the fault all nodes were in sync.
	Redundant time.Duration
	// FullSyncs is how many full copies of the data were made.
	FullSyncs int64
	// Stages of the change of the master, where there was one.
	Stages *Stages
}

// Stages say where the time goes, each counted from the one before.
type Stages struct {
	Noticed  time.Duration // from the fault to the operator's decision
	Promoted time.Duration // until there was a new master
	Routed   time.Duration // until the Service led there
	Served   time.Duration // until the first confirmed write
}

// Row is one fault, as often as it was injected.
type Row struct {
	Fault string
	Runs  []Run
	// Confirmed and Plain writes there were, and those of them that were lost.
	Confirmed, Plain         int
	ConfirmedLost, PlainLost int
	// Failed is true until all runs are done and all writes were read back.
	Failed bool
}

// Failovers of all runs.
func (r Row) Failovers() int64 { return r.sum(func(run Run) int64 { return run.Failovers }) }

// Median is how long it took in the median until writes were confirmed again.
func (r Row) Median() time.Duration {
	return Percentile(r.sorted(func(run Run) time.Duration { return run.Unavailable }), 50)
}

func (r Row) sum(of func(Run) int64) int64 {
	sum := int64(0)
	for _, run := range r.Runs {
		sum += of(run)
	}
	return sum
}

func (r Row) sorted(of func(Run) time.Duration) []time.Duration {
	all := make([]time.Duration, 0, len(r.Runs))
	for _, run := range r.Runs {
		all = append(all, of(run))
	}
	slices.Sort(all)
	return all
}

// Table shows the rows as markdown. The 99th percentile is shown from a hundred
// runs on; below that there are the median and the longest.
func Table(rows []Row) string {
	var table strings.Builder
	table.WriteString("| Fault | Runs | Failovers | Unavailable: median | p99 | longest | Confirmed lost | Plain lost | Full resyncs | Full " +
		"redundancy after: median | longest |\n" +
		"|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, row := range rows {
		out := row.sorted(func(r Run) time.Duration { return r.Unavailable })
		back := row.sorted(func(r Run) time.Duration { return r.Redundant })
		p99, verdict := "–", ""
		if row.Failed {
			verdict = " – **failed**, not all runs count"
		}
		if len(out) >= enough {
			p99 = FormatDuration(Percentile(out, 99))
		}
		fmt.Fprintf(&table, "| %s%s | %d | %d | %s | %s | %s | %d | %d | %d | %.1f s | %.1f s |\n",
			row.Fault, verdict, len(row.Runs), row.Failovers(), FormatDuration(Percentile(out, 50)), p99, FormatDuration(Percentile(out, 100)),
			row.ConfirmedLost, row.PlainLost, row.sum(func(r Run) int64 { return r.FullSyncs }),
			Percentile(back, 50).Seconds(), Percentile(back, 100).Seconds())
	}
	table.WriteString("\n" + summary(rows) + "\n")
	return table.String()
}

func summary(rows []Row) string {
	var all Row
	for _, row := range rows {
		all.Runs = append(all.Runs, row.Runs...)
		all.Confirmed, all.ConfirmedLost = all.Confirmed+row.Confirmed, all.ConfirmedLost+row.ConfirmedLost
		all.Plain, all.PlainLost = all.Plain+row.Plain, all.PlainLost+row.PlainLost
	}
	return fmt.Sprintf("%d faults, %d changes of the master; %d writes confirmed by WAIT, of which %d were lost, and %d plain ones, of "+
		"which %d were lost.",
		len(all.Runs), all.Failovers(), all.Confirmed, all.ConfirmedLost, all.Plain, all.PlainLost)
}

// StageTable shows where the time goes, as medians over the changes of the master.
func StageTable(rows []Row) string {
	var table strings.Builder
	table.WriteString("| Fault | Noticed after | Promoted after | Routed after | First confirmed write after |\n|---|--:|--:|--:|--:|\n")
	for _, row := range rows {
		row.Runs = slices.DeleteFunc(slices.Clone(row.Runs), func(r Run) bool { return r.Stages == nil })
		if len(row.Runs) == 0 {
			continue
		}
		median := func(of func(Stages) time.Duration) string {
			return FormatDuration(Percentile(row.sorted(func(r Run) time.Duration { return of(*r.Stages) }), 50))
		}
		fmt.Fprintf(&table, "| %s | %s | %s | %s | %s |\n", row.Fault,
			median(func(s Stages) time.Duration { return s.Noticed }), median(func(s Stages) time.Duration { return s.Promoted }),
			median(func(s Stages) time.Duration { return s.Routed }), median(func(s Stages) time.Duration { return s.Served }))
	}
	return table.String()
}

// Percentile is that one of what is sorted, by nearest rank; 0 of nothing.
func Percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(1, (len(sorted)*p+99)/100)-1]
}

// FormatDuration in milliseconds, and in seconds from ten on.
func FormatDuration(d time.Duration) string {
	if d.Abs() >= 10*time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%d ms", d.Milliseconds())
}
