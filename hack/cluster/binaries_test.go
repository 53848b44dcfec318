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
