package main

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// meet stands for go build -trimpath -ldflags FLAGS -o FOLDER PACKAGE. It ends when both
// of two have built.
const meet = `#!/bin/sh
touch "$6/a" "$MEETING/$$"
while [ "$(ls "$MEETING" | wc -l)" -lt 2 ]; do sleep 0.01; done
`

// Two commands may build the same at once, as make test and make demo do.
func TestTwoBuildsDoNotDisturbEachOther(t *testing.T) {
	programs, l := t.TempDir(), layout{Root: t.TempDir()}
	t.Setenv("MEETING", t.TempDir())
	t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
	if err := os.WriteFile(filepath.Join(programs, "go"), []byte(meet), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"go.mod", "go.sum"} {
		if err := os.WriteFile(filepath.Join(l.Root, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var builds sync.WaitGroup
	for range 2 {
		builds.Go(func() {
			if err := build(t.Context(), l, []binary{{name: "a", module: ".", pkg: "example.com/a"}}); err != nil {
				t.Error(err)
			}
		})
	}
	builds.Wait()
	if left, _ := filepath.Glob(l.bin("*")); len(left) != 2 { // with its stamp
		t.Errorf("%q is left", left)
	}
}

func TestWhatIsRebuilt(t *testing.T) {
	tools := binary{module: "hack/tools/images", pkg: "example.com/a"}
	registry := binary{module: tools.module, pkg: "./registry"}
	own := binary{module: ownModule, pkg: "./pause"}
	for _, c := range []struct {
		changed string
		rebuilt map[binary]bool
	}{
		{"hack/tools/images/go.mod", map[binary]bool{tools: true, registry: true}},
		{"hack/tools/images/go.sum", map[binary]bool{tools: true, registry: true}},
		{"hack/tools/images/registry/main.go", map[binary]bool{registry: true}},
		{"hack/cluster/pause/main.go", map[binary]bool{own: true}},
	} {
		l := layout{Root: t.TempDir()}
		write := func(file, content string) {
			path := filepath.Join(l.Root, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, file := range []string{"hack/tools/images/go.mod", "hack/tools/images/go.sum", "hack/tools/images/registry/main.go",
			"hack/cluster/pause/main.go"} {
			write(file, "before")
		}
		before := map[binary]string{}
		for _, b := range []binary{tools, registry, own} {
			before[b] = fingerprintOf(t, l, b)
		}
		write(c.changed, "after")
		for _, b := range []binary{tools, registry, own} {
			if rebuilt := fingerprintOf(t, l, b) != before[b]; rebuilt != c.rebuilt[b] {
				t.Errorf("%s changed, and whether %s of %s is rebuilt is %t", c.changed, b.pkg, b.module, rebuilt)
			}
		}
	}
}

func fingerprintOf(t *testing.T, l layout, b binary) string {
	t.Helper()
	sum, err := fingerprint(l, b)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}
