package launcher

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestAMemberStartsFreshOnlyWhereNoOtherClustersLogIs(t *testing.T) {
	for _, c := range []struct {
		name   string
		known  []string
		volume []string
		want   string // the directories that it names; empty if it starts
	}{
		{"an empty volume", []string{"d"}, nil, ""},
		{"the log of another cluster", []string{"d"}, []string{"x/member/wal/0.wal"}, "x"},
		{"the log of an etcd that had the volume for itself", []string{"d"}, []string{"member/wal/0.wal"}, "member"},
		{"what its own cluster keeps there", []string{"d", "kept"}, []string{"kept/member/wal/0.wal"}, ""},
		{"kept data, and the log of another cluster", []string{"d", "kept"}, []string{"kept/member/wal/0.wal", "x/member/wal/0.wal"}, "x"},
		{"a restore that was cut short", []string{"d"}, []string{"restoring-d/restored/member/wal/0.wal"}, ""},
		{"a directory without a log", []string{"d"}, []string{"x/member/wal/0.tmp", "x/member/snap/db", "lost+found"}, ""},
		{"a directory that only root can read", []string{"d"}, []string{"lost+found/member/wal/0.wal"}, ""},
		{"an operator that does not know all directories", nil, []string{"x/member/wal/0.wal"}, ""},
		{"more directories than are named",
			[]string{"d"}, []string{"a/member/wal/0.wal", "b/member/wal/0.wal", "c/member/wal/0.wal", "e/member/wal/0.wal",
				"f/member/wal/0.wal", "g/member/wal/0.wal", "h/member/wal/0.wal"}, "a, b, c, e, f, 2 more"},
	} {
		t.Run(c.name, func(t *testing.T) {
			permit := Permit{Pod: "p1", Data: "d", Fresh: true, State: StateNew, Known: c.known, Drop: []string{"dropped"}}
			dir := newPod(t, permit)
			fill(t, dir, append([]string{"dropped/member/wal/0.wal"}, c.volume...), false)
			if len(c.known) > 0 {
				permit.Known = append(slices.Clone(c.known), permit.Drop...)
			}
			err := checkData(permit, pathsIn(dir))
			if got := fmt.Sprint(err); err != nil != (c.want != "") || err != nil && got != c.want {
				t.Fatalf("got %v", err)
			}
			for _, path := range c.volume {
				if _, err := os.Stat(dir + "/data/" + path); err != nil {
					t.Error(err)
				}
			}
			for _, made := range []string{"/data/d", "/began-d"} {
				if _, err := os.Stat(dir + made); (err == nil) != (c.want == "") {
					t.Errorf("%s: %v", made, err)
				}
			}
			if left, _ := filepath.Glob(dir + "/data/dropped"); len(left) > 0 != (c.want != "") {
				t.Errorf("of its own former data there is %v", left)
			}
		})
	}
}

// A directory that cannot be looked into may have a log. As root can look into all, the test has a loop of links.
func TestADirectoryThatCannotBeLookedIntoIsForeign(t *testing.T) {
	dir := newPod(t, Permit{})
	fill(t, dir, []string{"x/member"}, false)
	if err := os.Symlink("wal", dir+"/data/x/member/wal"); err != nil {
		t.Fatal(err)
	}
	if err := checkForeign(Permit{Known: []string{"d"}}, dir+"/data"); err == nil ||
		err.Error() != "x: cannot be read, too many levels of symbolic links" {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(dir+"/data/member", nil, 0o600); err != nil { // in the place of a directory
		t.Fatal(err)
	}
	if err := checkForeign(Permit{Known: []string{"d", "x"}}, dir+"/data"); err != nil {
		t.Errorf("a file: got %v", err)
	}
}

// The container ends with words for the operator. Once the data is gone, the next start makes the member.
func TestForeignDataIsReportedUntilItIsGone(t *testing.T) {
	dir := newPod(t, Permit{Pod: "p1", Data: "d", Fresh: true, State: StateNew, Known: []string{"d"}})
	fill(t, dir, []string{"x/member/wal/0.wal"}, false)
	for range 2 {
		if _, message, code := run(t, dir, StartCommand, "/bin/echo"); message != Foreign+"x" || code != ExitForeign {
			t.Fatalf("it said %q, exit code %d", message, code)
		}
	}
	if err := os.RemoveAll(dir + "/data/x"); err != nil {
		t.Fatal(err)
	}
	if _, _, code := run(t, dir, StartCommand, "/bin/echo"); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
