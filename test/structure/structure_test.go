package structure

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/mainstay-operator/mainstay-operator/"

// limits are what a package must not exceed: that of a kind, and one that looks and acts for a kind. They may only become smaller.
var limits = map[string]struct {
	object, first          string // the type of the object, and the file that a reader starts with
	enters, passed, arrows int    // functions that the object enters, calls that pass it on, and arrows that run back up
}{
	"controllers/easyservice":          {"EasyService", "controller.go", 38, 52, 7},
	"controllers/etcd":                 {"EtcdCluster", "controller.go", 4, 4, 3},
	"controllers/etcd/internal/fleet":  {"EtcdCluster", "act.go", 0, 0, 3},
	"controllers/memcached":            {"Memcached", "controller.go", 70, 119, 7},
	"controllers/redis":                {"Redis", "controller.go", 11, 4, 5},
	"controllers/redis/internal/fleet": {"Redis", "act.go", 1, 0, 6},
}

func TestAKindReadsInOneDirection(t *testing.T) {
	measures, err := Load("../..", "./controllers/...")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range slices.Sorted(maps.Keys(measures)) {
		m := measures[path]
		t.Logf("%-48s %3d files %5d lines %4d arrows, %2d files in a circle",
			strings.TrimPrefix(path, module), m.Files, m.Lines, len(m.Arrows), len(m.Circle()))
	}
	for kind, limit := range limits {
		back := measures[module+kind].Back(limit.first)
		var entered, passed int
		for path, m := range measures {
			if strings.HasPrefix(path+"/", module+kind+"/") { // the packages below it, too
				entered += m.Enters[limit.object]
				passed += m.Passed[limit.object]
			}
		}
		for _, row := range []struct {
			what          string
			counted, most int
		}{
			{"functions that the object enters", entered, limit.enters},
			{"calls that pass it on", passed, limit.passed},
			{"arrows that run back up", len(back), limit.arrows},
		} {
			t.Logf("%s: %d %s", kind, row.counted, row.what)
			if row.counted != row.most {
				t.Errorf("%s has %d %s, and its limit is %d: make it fewer, or lower the limit (%v)", kind, row.counted, row.what, row.most, back)
			}
		}
	}
}

func TestArrows(t *testing.T) {
	m := Measure{Arrows: []Arrow{{"a", "b"}, {"b", "c"}, {"c", "b"}, {"c", "a"}, {"c", "d"}, {"e", "d"}}}
	if back, want := m.Back("a"), []Arrow{{"c", "b"}, {"c", "a"}}; !slices.Equal(back, want) {
		t.Errorf("back up run %v, not %v", back, want)
	}
	if circle, want := m.Circle(), []string{"a", "b", "c"}; !slices.Equal(circle, want) {
		t.Errorf("in a circle are %v, not %v", circle, want)
	}
}
