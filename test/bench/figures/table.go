package figures

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// missing stands for a figure that was not measured.
const missing = "–"

// column of a table about phases.
type column struct {
	heading, unit string
	decimals      int
	of            func(Run, Phase) float64
	// bare has the figure of the null operator and the ratio, too.
	bare bool
}

// perObject divides what all objects cost.
func perObject(total func(Phase) float64) func(Run, Phase) float64 {
	return func(run Run, p Phase) float64 { return total(p) / float64(run.Objects) }
}

var (
	timeTaken = column{"Time", "s", 1, func(_ Run, p Phase) float64 { return p.Took.Seconds() }, true}
	writes    = column{"Writes an object", "", 2, perObject(func(p Phase) float64 { return float64(p.Requests.Writes) }), true}
	events    = column{"Events an object", "", 2, perObject(func(p Phase) float64 { return float64(p.Requests.Events) }), false}
	reads     = column{"Reads an object", "", 2, perObject(func(p Phase) float64 { return float64(p.Requests.Reads) }), true}
	apiServer = column{"API server's CPU an object", "ms", 1, perObject(func(p Phase) float64 {
		return float64(p.APIServerCPU.Microseconds()) / 1000
	}), true}
	managers = column{"Managers' CPU an object", "ms", 1, perObject(func(p Phase) float64 {
		return float64(p.ManagerCPU.Microseconds()) / 1000
	}), false}

	columns = []column{timeTaken, writes, events, reads, apiServer, managers}
)

// Table shows the report as Markdown: one row for each phase with that many objects of a kind, then what is measured of the managers.
func (r Report) Table() string {
	var text strings.Builder
	text.WriteString("| Kind | Objects | Phase | Runs: operator, null |")
	for _, c := range columns {
		text.WriteString(" " + c.heading + " |")
		if c.bare {
			text.WriteString(" null | ratio |")
		}
	}
	text.WriteString("\n|---|--:|---|--:|")
	for _, c := range columns {
		text.WriteString("--:|")
		if c.bare {
			text.WriteString("--:|--:|")
		}
	}
	text.WriteString("\n")
	for _, s := range r.settings() {
		ours, bare := r.runsOf(s.kind, s.objects, Ours), r.runsOf(s.kind, s.objects, Null)
		for _, phase := range phasesOf(slices.Concat(ours, bare)) {
			fmt.Fprintf(&text, "| %s | %d | %s | %d, %d |", s.kind, s.objects, phase, len(ours), len(bare))
			for _, c := range columns {
				text.WriteString(c.cells(phase, ours, bare))
			}
			text.WriteString("\n")
		}
	}
	text.WriteString("\n" + r.managersTable())
	if r.Limits != "" {
		text.WriteString("\n" + r.Limits + "\n")
	}
	return text.String()
}

// phasesOf returns the names of the phases, in the order of the runs.
func phasesOf(runs []Run) []string {
	var names []string
	for _, run := range runs {
		for _, p := range run.Phases {
			if !slices.Contains(names, p.Name) {
				names = append(names, p.Name)
			}
		}
	}
	return names
}

// cells of a row: the operator's median, and for some columns the null operator's and the ratio of the two.
func (c column) cells(phase string, ours, bare []Run) string {
	a, b := valuesOf(ours, phase, c.of), valuesOf(bare, phase, c.of)
	cells := " " + c.format(Median(a)) + " |"
	if !c.bare {
		return cells
	}
	return cells + " " + c.format(Median(b)) + " | " + ratio(a, b) + " |"
}

// ratio of two medians; in parentheses, between which bounds it is for any two runs, if there are several.
func ratio(a, b []float64) string {
	above, haveA := Median(a)
	below, haveB := Median(b)
	if !haveA || !haveB || slices.Min(b) <= 0 {
		return missing
	}
	text := fmt.Sprintf("%.2f", above/below)
	if low, high := slices.Min(a)/slices.Max(b), slices.Max(a)/slices.Min(b); low != high {
		text += fmt.Sprintf(" (%.2f–%.2f)", low, high)
	}
	return text
}

func (c column) format(value float64, ok bool) string {
	if !ok {
		return missing
	}
	return strings.TrimSpace(fmt.Sprintf("%.*f %s", c.decimals, value, c.unit))
}

// managersTable shows what is measured of the operator alone.
func (r Report) managersTable() string {
	var text strings.Builder
	text.WriteString("| Kind | Objects | Heap an object: leader | standby | RSS an object: leader | standby | Longest pass | " +
		"Edit waits: leader killed | both started |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	heap := func(run Run, m Manager) float64 { return float64(m.Heap) / 1024 / float64(run.Objects) }
	resident := func(run Run, m Manager) float64 { return float64(m.RSS) / 1024 / float64(run.Objects) }
	longest := func(_ Run, m Manager) float64 { return float64(m.LongestPass.Milliseconds()) }
	memory, pass, wait := column{unit: "KiB", decimals: 1}, column{unit: "ms"}, column{unit: "s", decimals: 1}
	for _, s := range r.settings() {
		runs := r.runsOf(s.kind, s.objects, Ours)
		fmt.Fprintf(&text, "| %s | %d |", s.kind, s.objects)
		for _, cell := range []struct {
			column
			leads bool
			of    func(Run, Manager) float64
		}{
			{memory, true, heap}, {memory, false, heap}, {memory, true, resident}, {memory, false, resident}, {pass, true, longest},
		} {
			text.WriteString(" " + cell.format(managersMedian(runs, cell.leads, cell.of)) + " |")
		}
		for _, of := range []func(Run) time.Duration{
			func(run Run) time.Duration { return run.TakeOver }, func(run Run) time.Duration { return run.Restart },
		} {
			var values []float64
			for _, run := range runs {
				values = append(values, of(run).Seconds())
			}
			text.WriteString(" " + wait.format(Median(values)) + " |")
		}
		text.WriteString("\n")
	}
	return text.String()
}
