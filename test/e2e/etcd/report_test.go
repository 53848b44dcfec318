package etcd

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

// Report is of all histories of one state of the code.
type Report struct {
	// Code identifies that state; empty where git cannot.
	Code      string
	Histories []History
}

// History is of one EtcdCluster and the faults that befell it.
type History struct {
	Runs []Run
	// Acknowledged writes there were, and those of them that a member does not have.
	Acknowledged, Lost int
	// Judged is true when all four results of the judge are success.
	Judged bool
	// Failure is why the history is not complete, or not correct.
	Failure string `json:",omitempty"`
}

// Run is what one fault was to users.
type Run struct {
	Fault string
	// Gap is the longest time between two acknowledged writes of a client that knows all members, ServiceGap of one that has
	// the Service alone.
	Gap, ServiceGap time.Duration
	// Healthy is when there were three healthy voters, counted from the fault.
	Healthy time.Duration
	// Bare is the same of the bare etcd; nil where that is not broken in this way.
	Bare *BareRun `json:",omitempty"`
}

// BareRun is what the fault was to the same clients of the bare etcd.
type BareRun struct{ Gap, ServiceGap, Healthy time.Duration }

// table shows the report as markdown, with the faults in the order of the plans.
func (r Report) table() string {
	var table strings.Builder
	table.WriteString("| Fault | Runs | Longest write gap: median | maximum | bare etcd: median | maximum | Acknowledged writes lost | " +
		"All four results Success | Three healthy voters after: median | maximum | bare etcd: median | maximum |\n" +
		"|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, p := range plans {
		for _, f := range p.faults {
			r.row(&table, f.name)
		}
	}
	faults, all, lost, judged := 0, 0, 0, 0
	for _, h := range r.Histories {
		faults, all, lost = faults+len(h.Runs), all+h.Acknowledged, lost+h.Lost
		if h.Judged {
			judged++
		}
	}
	fmt.Fprintf(&table, "\n%d faults in %d histories, of which %d were judged with all four results Success; %d acknowledged writes, of "+
		"which %d were lost.\n",
		faults, len(r.Histories), judged, all, lost)
	for _, h := range r.Histories {
		if h.Failure != "" {
			fmt.Fprintf(&table, "\nA history **failed**: %s\n", strings.ReplaceAll(h.Failure, "\n", "; "))
		}
	}
	return table.String()
}

// row of a fault, and one for the client that has the Service alone. What the judge says of a history holds for each fault in it.
func (r Report) row(table *strings.Builder, name string) {
	var gaps, service, healthy, bareGaps, bareService, bareHealthy []time.Duration
	histories, judged, lost := 0, 0, 0
	for _, h := range r.Histories {
		if !slices.ContainsFunc(h.Runs, func(run Run) bool { return run.Fault == name }) {
			continue
		}
		histories, lost = histories+1, lost+h.Lost
		if h.Judged {
			judged++
		}
		for _, run := range h.Runs {
			if run.Fault != name {
				continue
			}
			gaps, service, healthy = append(gaps, run.Gap), append(service, run.ServiceGap), append(healthy, run.Healthy)
			if run.Bare != nil {
				bareGaps, bareService = append(bareGaps, run.Bare.Gap), append(bareService, run.Bare.ServiceGap)
				bareHealthy = append(bareHealthy, run.Bare.Healthy)
			}
		}
	}
	if len(gaps) == 0 {
		return
	}
	fmt.Fprintf(table, "| %s | %d | %s | %s | %d | %d of %d | %s | %s |\n",
		name, len(gaps), columns(gaps), columns(bareGaps), lost, judged, histories, columns(healthy), columns(bareHealthy))
	fmt.Fprintf(table, "| – by the Service alone | %d | %s | %s | | | | | | |\n", len(service), columns(service), columns(bareService))
}

// columns are median and maximum.
func columns(all []time.Duration) string {
	if len(all) == 0 {
		return "– | –"
	}
	slices.Sort(all)
	return fault.FormatDuration(fault.Percentile(all, 50)) + " | " + fault.FormatDuration(fault.Percentile(all, 100))
}

// figures is the file with the figures of a report, next to it.
func figures(file string) string { return strings.TrimSuffix(file, filepath.Ext(file)) + ".json" }

// loadReport returns the report that is in the file, if it is of this code, and else a new one.
func loadReport(file, code string) (Report, error) {
	fresh := Report{Code: code}
	if file == "" {
		return fresh, nil
	}
	text, err := os.ReadFile(figures(file))
	if errors.Is(err, os.ErrNotExist) {
		return fresh, nil
	} else if err != nil {
		return fresh, err
	}
	var former Report
	if err := json.Unmarshal(text, &former); err != nil {
		return fresh, fmt.Errorf("%s: %w", figures(file), err)
	}
	if former.Code == "" || former.Code != fresh.Code {
		return fresh, nil
	}
	return former, nil
}

// save the table in the file, and the figures next to it.
func (r Report) save(file string) error {
	if file == "" {
		return nil
	}
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(file, []byte(r.table()), 0o644), //nolint:gosec // for everybody to read
		os.WriteFile(figures(file), text, 0o644))     //nolint:gosec // for everybody to read
}

// code is the commit that is checked out, with what was changed since; empty where git does not know.
func code() string {
	commit, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		return ""
	}
	changes, err := exec.Command("git", "diff", "HEAD").Output()
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s %x", strings.TrimSpace(string(commit)), sha256.Sum256(changes))
}

func TestReportsOfTheSameCodeAreAddedUp(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.md")
	history := History{Runs: []Run{{Fault: plans[0].faults[0].name}}, Judged: true}
	for range 2 {
		r, err := loadReport(file, "this")
		if err != nil {
			t.Fatal(err)
		}
		r.Histories = append(r.Histories, history)
		if err := r.save(file); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := loadReport(file, "this"); err != nil || len(r.Histories) != 2 {
		t.Errorf("%d histories: %v", len(r.Histories), err)
	}
	for _, former := range []string{"another", ""} {
		if err := (Report{Code: former, Histories: []History{history}}).save(file); err != nil {
			t.Fatal(err)
		}
		for _, now := range []string{"this", ""} {
			if r, err := loadReport(file, now); err != nil || len(r.Histories) != 0 {
				t.Errorf("%d histories of code %q, now %q: %v", len(r.Histories), former, now, err)
			}
		}
	}
}

func TestTable(t *testing.T) {
	name, bare := plans[0].faults[0].name, &BareRun{Gap: 2 * time.Second, ServiceGap: 5 * time.Second, Healthy: 4 * time.Second}
	run := func(gap time.Duration) Run {
		return Run{Fault: name, Gap: gap, ServiceGap: 2 * gap, Bare: bare, Healthy: 10 * gap}
	}
	got := Report{Histories: []History{
		{Runs: []Run{run(time.Second)}, Acknowledged: 100, Judged: true},
		{Runs: []Run{run(3 * time.Second), run(time.Second)}, Acknowledged: 50, Lost: 1, Failure: "one is lost"},
	}}.table()
	for _, want := range []string{
		"| " + name + " | 3 | 1000 ms | 3000 ms | 2000 ms | 2000 ms | 1 | 1 of 2 | 10.0 s | 30.0 s | 4000 ms | 4000 ms |",
		"| – by the Service alone | 3 | 2000 ms | 6000 ms | 5000 ms | 5000 ms | |",
		"3 faults in 2 histories, of which 1 were judged with all four results Success; 150 acknowledged writes, of which 1 were lost.",
		"**failed**: one is lost",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

// Each fault has a row of its own in the report.
func TestNamesOfFaultsDiffer(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range plans {
		for _, f := range p.faults {
			if seen[f.name] {
				t.Errorf("%s is there twice", f.name)
			}
			seen[f.name] = true
		}
	}
}
