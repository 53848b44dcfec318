package membership

import (
	"strings"
	"testing"
)

func TestResolveVersion(t *testing.T) {
	running := Version{5, 30}
	for _, c := range []struct {
		name, text string
		running    Version
		want       string
		problem    string
	}{
		{name: "a minor version is its newest patch", text: "3.5", want: "3.5.35"},
		{name: "a minor version keeps the patch that runs", text: "3.5", running: running, want: "3.5.30"},
		{name: "the next minor version is its newest patch", text: "3.6", running: running, want: "3.6.16"},
		{name: "an exact version", text: "3.6.12", want: "3.6.12"},
		{name: "a patch that is newer than this release", text: "3.6.99", want: "3.6.99"},
		{name: "none is the default", want: newest[NewestMinor].String()},
		{name: "none keeps what runs", running: running, want: "3.5.30"},
		{name: "before the first that is safe", text: "3.5.25", problem: "etcd before 3.5.26 is not supported"},
		{name: "unknown minor", text: "3.8", problem: "knows no etcd 3.8"},
		{name: "unknown minor with a patch", text: "3.4.30", problem: "knows no etcd 3.4"},
		{name: "no version", text: "latest", problem: `"latest" is no version of etcd 3`},
		{name: "no number", text: "3.x.1", problem: `"3.x.1" is no version of etcd 3`},
		{name: "no patch number", text: "3.6.x", problem: `"3.6.x" is no version of etcd 3`},
		{name: "another major", text: "2.3.8", problem: `"2.3.8" is no version of etcd 3`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ResolveVersion(c.text, c.running)
			if c.problem != "" {
				if err == nil || !strings.Contains(err.Error(), c.problem) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil || got.String() != c.want {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
}

// Servers, stamps on volumes and manifests of backups say versions, and may say anything.
func TestParseVersion(t *testing.T) {
	for text, want := range map[string]Version{"3.0.0": {}, "3.6.16": {6, 16}, "3.999.999": {999, 999}} {
		if got, err := ParseVersion(text); got != want || err != nil {
			t.Errorf("%s: got %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "3", "3.7", "3.7.", "3.7.3.1", "3.7.-1", "3.-7.3", "3.+7.+3", "3.07.3", "3.7.1000",
		"3.99999999999999999999.0", "4.7.3", "3.7.3-rc.0", " 3.7.3", "3.7.3\n"} {
		if got, err := ParseVersion(text); got != (Version{}) || err == nil {
			t.Errorf("%q: got %s", text, got)
		}
	}
}

func TestTheLadder(t *testing.T) {
	for _, c := range []struct {
		name         string
		from, wanted Version
		steps        string
	}{
		{"the same", Version{6, 16}, Version{6, 16}, ""},
		{"a patch", Version{6, 11}, Version{6, 16}, "3.6.16"},
		{"a patch back", Version{6, 16}, Version{6, 11}, "3.6.11"},
		{"one minor version", Version{5, 35}, Version{6, 12}, "3.6.12"},
		{"two minor versions, through the newest of the one between", Version{5, 35}, Version{7, 0}, "3.6.16 3.7.0"},
		{"a patch that the next minor version cannot follow", Version{6, 10}, Version{7, 3}, "3.6.16 3.7.3"},
		{"the first that the next minor version can follow", Version{6, 11}, Version{7, 3}, "3.7.3"},
		{"an old patch of the first minor version", Version{5, 20}, Version{7, 3}, "3.5.35 3.6.16 3.7.3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var steps []string
			for now := c.from; now != c.wanted; {
				next, err := NextVersion(now, c.wanted)
				if err != nil {
					t.Fatal(err)
				}
				now = next
				steps = append(steps, now.String())
			}
			if got := strings.Join(steps, " "); got != c.steps {
				t.Errorf("got %s", got)
			}
		})
	}
	if _, err := NextVersion(Version{6, 16}, Version{5, 35}); err == nil || !strings.Contains(err.Error(), "restore a backup") {
		t.Errorf("the way back: %v", err)
	}
}

func TestEachMinorVersionCanBeReached(t *testing.T) {
	for minor, v := range newest {
		if v.Minor != minor || v.Compare(earliest) < 0 {
			t.Errorf("%d: %s", minor, v)
		}
		if needed, has := earliestBefore[minor]; has && newest[minor-1].Compare(needed) < 0 {
			t.Errorf("%s cannot be reached: %s comes before it, and %s is needed", v, newest[minor-1], needed)
		}
	}
}
