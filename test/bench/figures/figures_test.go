package figures

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	for _, row := range []struct {
		name   string
		values []float64
		want   float64
		ok     bool
	}{
		{"no value has no median", nil, 0, false},
		{"a single value is the median", []float64{3}, 3, true},
		{"an odd number of values has one in the middle", []float64{9, 1, 2}, 2, true},
		{"of an even number it is the mean of the two in the middle", []float64{8, 1, 4, 2}, 3, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got, ok := Median(row.values); got != row.want || ok != row.ok {
				t.Errorf("%v, %v", got, ok)
			}
		})
	}
}

// run of 10 objects whose creation took that long.
func run(kind string, objects int, contestant string, took time.Duration) Run {
	r := Run{Kind: kind, Objects: objects, Contestant: contestant, Phases: []Phase{{Name: Create, Took: took,
		Requests: Requests{Writes: 6 * objects, Events: 2 * objects, Reads: objects}, APIServerCPU: took / 10}}}
	if contestant == Ours {
		r.Phases[0].ManagerCPU = took / 100
		r.Managers = []Manager{{Leads: true, Heap: int64(objects) << 13, RSS: int64(objects) << 14, LongestPass: 250 * time.Millisecond},
			{Heap: int64(objects) << 12}}
		r.TakeOver, r.Restart = took/2, took
	}
	return r
}

func report() Report {
	return Report{Limits: "The limits are 20 and 30.", Runs: []Run{
		run("Memcached", 10, Ours, 4*time.Second), run("Memcached", 10, Null, 2*time.Second),
		run("Memcached", 10, Null, 2*time.Second), run("Memcached", 10, Ours, 2*time.Second),
		run("EasyService", 20, Null, time.Second), run("Memcached", 5, Ours, time.Second),
	}}
}

func TestTable(t *testing.T) {
	got := report().Table()
	for _, want := range []string{
		"| Memcached | 10 | create | 2, 2 | 3.0 s | 2.0 s | 1.50 (1.00–2.00) | 6.00 | 6.00 | 1.00 | 2.00 | 1.00 | 1.00 | 1.00 " +
			"| 30.0 ms | 20.0 ms | 1.50 (1.00–2.00) | 3.0 ms |\n",
		"| EasyService | 20 | create | 0, 1 | – | 1.0 s | – | – | 6.00 | – | – | – | 1.00 | – | – | 5.0 ms | – | – |\n",
		"| Memcached | 10 | 8.0 KiB | 4.0 KiB | 16.0 KiB | 0.0 KiB | 250 ms | 1.5 s | 3.0 s |\n",
		"| EasyService | 20 | – | – | – | – | – | – | – |\n",
		"The limits are 20 and 30.\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if strings.Index(got, "| Memcached | 5 |") > strings.Index(got, "| Memcached | 10 |") {
		t.Error("fewer objects do not come first")
	}
	lines := strings.Split(got, "\n")
	if head, row := strings.Count(lines[0], "|"), strings.Count(lines[2], "|"); head != row {
		t.Errorf("%d bars in the head, %d in a row", head, row)
	}
}

func TestPlots(t *testing.T) {
	var got Plot
	for _, p := range report().Plots() {
		if p.Name == "time" {
			got = p
		}
	}
	want := []Series{
		{"Memcached, operator", []float64{5, 10}, []float64{1, 3}},
		{"Memcached, null", []float64{10}, []float64{2}},
		{"EasyService, null", []float64{20}, []float64{1}},
	}
	if !reflect.DeepEqual(got.Series, want) {
		t.Errorf("%+v", got.Series)
	}
}

func TestDoneCountsTheRunsOfBothContestants(t *testing.T) {
	if got := report().Done("Memcached", 10); got != 4 {
		t.Errorf("%d", got)
	}
}
