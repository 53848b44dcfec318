package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const claimsHeading = "\n## What it does that others do not\n"

var (
	// aFigure of a claim says what it is: that of a column of docs/benchmarks.md.
	aFigure     = regexp.MustCompile(`\b(median|p99|longest) ([\d.]+ m?s)\b`)
	aNumber     = regexp.MustCompile(`[1-9][\d,]*`)
	aTime       = regexp.MustCompile(`\d[\d.]* ?(?:ms|s|seconds?)\b`)
	counts      = regexp.MustCompile(`0 of ([\d,]+) in (\d+) faults of (\d+) types`)
	ofFaults    = regexp.MustCompile(`that is (\d+) faults`)
	ofWrites    = regexp.MustCompile("Of ([\\d,]+) writes confirmed by `WAIT` none was lost")
	rate        = regexp.MustCompile(`\b(\d+) requests? a second`)
	rateOfAll   = regexp.MustCompile(`\b(\d+) requests? a second in all`)
	aboutRest   = regexp.MustCompile(`(?i)\bat rest\b`)
	aboutOthers = regexp.MustCompile(`(?i)\bhostile\b|\btenant`)
)

// columns of the figures in docs/benchmarks.md, by what a claim calls them.
var columns = map[string]string{"median": "Unavailable: median", "p99": "p99", "longest": "longest"}

// A claim of the README says no other figure than the page on which it was measured.
func TestClaimsHaveTheirFigures(t *testing.T) {
	readme, benchmarks := readPage(t, "README.md"), readPage(t, "docs/benchmarks.md")
	if faults := claimFaults(readme, benchmarks); len(faults) > 0 {
		t.Error(strings.Join(faults, "\n"))
	}
	if rows := claimsOf(readme); len(rows) < 6 {
		t.Errorf("the README has %d claims", len(rows))
	}
}

// formerClaims were false.
var formerClaims = []string{
	"| A master killed with `kill -9` is replaced in a fraction of a second: clients wait 212 ms (median) | " +
		"[benchmarks](docs/benchmarks.md#figures), [others](docs/benchmarks.md#others) |",
	"| A master killed with `kill -9` is replaced: clients wait median 212 ms | [benchmarks](docs/benchmarks.md#figures), \"master killed " +
		"(kill -9)\" |",
	"| If the operator's leader dies together with the master, that costs two seconds, not the length of a lease | " +
		"[benchmarks](docs/benchmarks.md#figures) |",
	"| At rest, the operator sends no requests to the API server; after a restart it changes nothing | `test/e2e/quiet_test.go` |",
	"| One tenant's servers, even hostile ones, do not delay other tenants | [install " +
		"modes](docs/install-modes.md#what-one-namespace-can-do-to-another) |",
	"| No client has ever lost a write | [benchmarks](docs/benchmarks.md#figures) |",
}

func TestFalseClaimsAreFound(t *testing.T) {
	readme, benchmarks := readPage(t, "README.md"), readPage(t, "docs/benchmarks.md")
	for _, row := range formerClaims {
		planted := strings.Replace(readme, claimsHeading+"\n| | Shown by |\n|---|---|\n", claimsHeading+"\n| | Shown by |\n|---|---|\n"+row+"\n",
			1)
		if planted == readme || len(claimFaults(planted, benchmarks)) == 0 {
			t.Errorf("not found: %s", row)
		}
	}
}

func TestAChangedFigureIsFound(t *testing.T) {
	readme, benchmarks := readPage(t, "README.md"), readPage(t, "docs/benchmarks.md")
	changed := 0
	for _, claim := range claimsOf(readme) {
		for _, figure := range slices.Concat(aFigure.FindAllString(claim[0], -1), counts.FindAllString(claim[0], -1),
			rate.FindAllString(claim[0], -1)) {
			for _, number := range aNumber.FindAllString(strings.ReplaceAll(figure, "p99", ""), -1) {
				other := strings.Replace(figure, number, "7"+number, 1)
				changed++
				if len(claimFaults(strings.Replace(readme, figure, other, 1), benchmarks)) == 0 {
					t.Errorf("the README says %q instead of %q, and nothing is found", other, figure)
				}
			}
		}
		for _, row := range quotedRows(claim[1]) {
			for _, cell := range cellsOfRow(benchmarks, row)[3:6] {
				start := "| " + row + " |"
				rest := restOf(benchmarks, start)
				other := strings.Replace(benchmarks, start+rest, start+strings.Replace(rest, cell, "7"+cell, 1), 1)
				if !strings.Contains(claim[0], cell) {
					continue
				}
				if changed++; len(claimFaults(readme, other)) == 0 {
					t.Errorf("%s: docs/benchmarks.md says %q, and nothing is found", row, "7"+cell)
				}
			}
		}
	}
	for _, other := range []string{
		ofFaults.ReplaceAllString(benchmarks, "that is 476 faults"),
		strings.Replace(benchmarks, "1 request a second in all", "2 requests a second in all", 1),
		strings.Replace(benchmarks, "`WAIT` none was lost", "`WAIT` one was lost", 1),
		strings.Replace(benchmarks, "| 1299 ms | 0 | 0 |", "| 1299 ms | 1 | 0 |", 1),
	} {
		if changed++; other == benchmarks || len(claimFaults(readme, other)) == 0 {
			t.Error("a changed page of figures is not found")
		}
	}
	if changed < 20 {
		t.Errorf("only %d figures were changed", changed)
	}
}

// claimFaults compares the claims of the README with the figures, and says what is not so.
func claimFaults(readme, benchmarks string) []string {
	var faults []string
	for _, claim := range claimsOf(readme) {
		words, shown := claim[0], claim[1]
		fault := func(format string, args ...any) {
			faults = append(faults, fmt.Sprintf("%q: ", words)+fmt.Sprintf(format, args...))
		}
		rows := quotedRows(shown)
		if len(rows) == 0 && !strings.Contains(shown, "`") && !counts.MatchString(words) {
			fault("names neither a row of docs/benchmarks.md nor a test")
		}
		if left := aTime.FindString(aFigure.ReplaceAllString(words, "")); left != "" {
			fault("%s: is it median, p99 or longest?", left)
		}
		for _, row := range rows {
			for _, wrong := range rowFaults(words, cellsOfRow(benchmarks, row)) {
				fault("row %q %s", row, wrong)
			}
		}
		if len(rows) == 0 && aFigure.MatchString(words) {
			fault("names no row of docs/benchmarks.md for its figures")
		}
		if wrong := countFault(words, benchmarks); wrong != "" {
			fault("%s", wrong)
		}
		if aboutRest.MatchString(words) && !saysTheRate(words, benchmarks) {
			fault("the leader renews its lease at rest, too: docs/benchmarks.md has the requests a second")
		}
		if aboutOthers.MatchString(words) && !slices.ContainsFunc(rows, func(row string) bool { return strings.Contains(row, "hostile") }) {
			fault("names no row of docs/benchmarks.md with hostile servers")
		}
	}
	return faults
}

// saysTheRate reports whether a claim has the lease, and the requests a second that docs/benchmarks.md has.
func saysTheRate(words, benchmarks string) bool {
	all := rateOfAll.FindStringSubmatch(oneLine(benchmarks))
	return all != nil && strings.Contains(words, "lease") && slices.Contains(rate.FindStringSubmatch(words), all[1])
}

// rowFaults compares the figures of a claim with the cells of a row. A median does not stand alone.
func rowFaults(words string, row []string) []string {
	if len(row) < 6 {
		return []string{"is not in docs/benchmarks.md"}
	}
	measured := map[string]string{"median": row[3], "p99": row[4], "longest": row[5]}
	said := map[string]bool{}
	var faults []string
	for _, figure := range aFigure.FindAllStringSubmatch(words, -1) {
		said[figure[1]] = true
		if measured[figure[1]] != figure[2] {
			faults = append(faults, fmt.Sprintf("has %s %s, not %s", figure[1], measured[figure[1]], figure[2]))
		}
	}
	switch {
	case !said["median"] || measured["p99"] != "–" && !said["p99"]:
		faults = append(faults, "has a median and a p99, which the claim does not say both")
	case measured["p99"] == "–" && !said["longest"]:
		faults = append(faults, "has no p99: the claim says how long the longest was")
	}
	return faults
}

// countFault compares how many writes and faults there were, of how many types.
func countFault(words, benchmarks string) string {
	said := counts.FindStringSubmatch(words)
	if said == nil {
		return ""
	}
	text := oneLine(benchmarks)
	writes, faults, types := ofWrites.FindStringSubmatch(text), ofFaults.FindStringSubmatch(text), 0
	for _, row := range figuresOf(benchmarks) {
		if types++; row[6] != "0" {
			return fmt.Sprintf("row %q lost %s confirmed writes", row[0], row[6])
		}
	}
	if writes == nil || faults == nil || said[1] != writes[1] || said[2] != faults[1] || said[3] != strconv.Itoa(types) {
		return fmt.Sprintf("docs/benchmarks.md has %q, %q and %d types of faults", writes, faults, types)
	}
	return ""
}

// claimsOf returns the rows of the README's table of claims: what is claimed, and what shows it.
func claimsOf(readme string) [][]string {
	_, section, _ := strings.Cut(readme, claimsHeading)
	section, _, _ = strings.Cut(section, "\n## ")
	var rows [][]string
	for line := range strings.SplitSeq(section, "\n") {
		if row := cells(line); strings.HasPrefix(line, "|") && len(row) == 2 && !strings.HasPrefix(row[0], "---") && row[0] != "" {
			rows = append(rows, row)
		}
	}
	return rows
}

func quotedRows(shown string) []string {
	var rows []string
	for _, found := range inQuotes.FindAllString(shown, -1) {
		rows = append(rows, strings.Trim(found, `"`))
	}
	return rows
}

// figuresOf returns the rows of the table of Redis' figures.
func figuresOf(benchmarks string) [][]string {
	_, table, _ := strings.Cut(benchmarks, "\n| Fault | Runs | Failovers | "+columns["median"]+" | "+columns["p99"]+" | "+columns["longest"]+
		" | Confirmed lost |")
	table, _, _ = strings.Cut(table, "\n\n")
	var rows [][]string
	for line := range strings.SplitSeq(table, "\n") {
		if strings.HasPrefix(line, "| ") {
			rows = append(rows, cells(line))
		}
	}
	return rows
}

func cellsOfRow(benchmarks, name string) []string {
	for _, row := range figuresOf(benchmarks) {
		if row[0] == name {
			return row
		}
	}
	return nil
}

// restOf returns what follows on a line.
func restOf(text, start string) string {
	_, rest, _ := strings.Cut(text, start)
	rest, _, _ = strings.Cut(rest, "\n")
	return rest
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func readPage(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root(t), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
