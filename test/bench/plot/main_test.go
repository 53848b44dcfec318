package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPlotsAreDrawn(t *testing.T) {
	report := filepath.Join(t.TempDir(), "report")
	text := `[{"Name":"time","Title":"Time, s","Series":[{"Name":"Memcached, operator","X":[300,1000],"Y":[60,200]},
		{"Name":"Memcached, null","X":[300],"Y":[0]}]},{"Name":"managers","Title":"CPU","Series":null}]`
	if err := os.WriteFile(report+".plots.json", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{report}); err != nil {
		t.Fatal(err)
	}
	drawn, err := os.ReadFile(report + "-time.svg")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<svg", "Time, s", "Memcached, operator", "Memcached, null", "Objects"} {
		if !strings.Contains(string(drawn), want) {
			t.Errorf("%q is not drawn", want)
		}
	}
	if _, err := os.Stat(report + "-managers.svg"); !os.IsNotExist(err) {
		t.Errorf("a plot without any line was drawn: %v", err)
	}
}

func TestAnArgumentIsNeeded(t *testing.T) {
	if err := run(nil); err == nil {
		t.Error("no report was named, and that is no error")
	}
}

func TestTicksAreRound(t *testing.T) {
	for end, want := range map[float64]string{121: "0 50 100 150", 32.05: "0 10 20 30 40", 0.9: "0 0.2 0.4 0.6 0.8 1", 6: "0 1 2 3 4 5 6"} {
		var got []string
		for _, tick := range rounded(end) {
			got = append(got, tick.Label)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("up to %g: %v, want %s", end, got, want)
		}
	}
}
