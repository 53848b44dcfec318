package fault

import (
	"strings"
	"testing"
	"time"
)

func TestPercentile(t *testing.T) {
	hundred := make([]time.Duration, 0, 100)
	for n := range 100 {
		hundred = append(hundred, time.Duration(n+1))
	}
	for _, c := range []struct {
		of   []time.Duration
		p    int
		want time.Duration
	}{
		{nil, 50, 0},
		{hundred[:1], 50, 1}, {hundred[:1], 99, 1},
		{hundred[:2], 50, 1}, {hundred[:3], 50, 2}, {hundred[:3], 100, 3},
		{hundred, 50, 50}, {hundred, 99, 99}, {hundred, 100, 100},
	} {
		if got := Percentile(c.of, c.p); got != c.want {
			t.Errorf("p%d of %d: %d, want %d", c.p, len(c.of), got, c.want)
		}
	}
}

func TestTable(t *testing.T) {
	few := Row{Fault: "kill -9", Confirmed: 900, Plain: 1000, PlainLost: 4, Runs: []Run{
		{Failovers: 1, Unavailable: 300 * time.Millisecond, Redundant: 2 * time.Second, FullSyncs: 1},
		{Failovers: 1, Unavailable: 100 * time.Millisecond, Redundant: time.Second, FullSyncs: 1},
		{Failovers: 2, Unavailable: 17 * time.Second, Redundant: 20 * time.Second, FullSyncs: 2},
	}}
	if got, want := Table([]Row{few}), "| kill -9 | 3 | 4 | 300 ms | – | 17.0 s | 0 | 4 | 4 | 2.0 s | 20.0 s |\n"; !strings.Contains(got,
		want) {
		t.Errorf("got\n%swant in it\n%s", got, want)
	}
	if got, want := Table([]Row{few, few}),
		"\n6 faults, 8 changes of the master; 1800 writes confirmed by WAIT, of which 0 were lost, and 2000 plain ones, of which 8 were "+
			"lost.\n"; !strings.HasSuffix(got, want) {
		t.Errorf("got\n%swant it to end in\n%s", got, want)
	}
	failed := few
	failed.Failed = true
	if got := Table([]Row{failed}); !strings.Contains(got, "**failed**") {
		t.Errorf("a failed row must say so:\n%s", got)
	}
	many := few
	for len(many.Runs) < enough {
		many.Runs = append(many.Runs, Run{Unavailable: 200 * time.Millisecond})
	}
	if got, want := Table([]Row{many}), "| kill -9 | 100 | 4 | 200 ms | 300 ms | 17.0 s |"; !strings.Contains(got, want) {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestStageTable(t *testing.T) {
	ms := time.Millisecond
	rows := []Row{
		{Fault: "kill -9", Runs: []Run{{}, {Stages: &Stages{Noticed: 20 * ms, Promoted: 30 * ms, Routed: 40 * ms, Served: 50 * ms}}}},
		{Fault: "no new master", Runs: []Run{{}}},
	}
	if got, want := StageTable(rows), "--:|\n| kill -9 | 20 ms | 30 ms | 40 ms | 50 ms |\n"; !strings.HasSuffix(got, want) {
		t.Errorf("got\n%swant it to end in\n%s", got, want)
	}
}
