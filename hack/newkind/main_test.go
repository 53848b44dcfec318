package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mainstay-operator/mainstay-operator/test/cluster"
)

// TestANewKindBuilds makes a kind of a new group and one of a group that exists, in a copy of the repository. It builds both, with the
// controllers that list them, and runs their tests.
func TestANewKindBuilds(t *testing.T) {
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	folder := copyOf(t, root)
	for _, k := range []kind{{"queue", "v1alpha1", "Queue"}, {"cache", "v1alpha1", "Proxy"}} {
		if err := k.validate(); err != nil {
			t.Fatal(err)
		}
		if err := k.write(folder); err != nil {
			t.Fatal(err)
		}
		if err := k.write(folder); err == nil || !strings.Contains(err.Error(), "exists") {
			t.Errorf("a kind that exists is written again: %v", err)
		}
	}
	run(t, folder, filepath.Join(root, ".bin", "controller-gen"), "object:headerFile=hack/boilerplate.go.txt", "paths=./api/...")
	run(t, folder, filepath.Join(root, ".bin", "controller-gen"), "crd", "paths=./api/...", "output:crd:artifacts:config=config/crd/bases")
	run(t, folder, "go", "run", "./hack/crdbounds", "config/crd/bases")
	run(t, folder, "go", "build", "./controllers/...")
	run(t, folder, "go", "test", "./controllers/queue", "./controllers/proxy")
	run(t, folder, "go", "test", "-run", "^$", "./controllers", "./test/integration")

	// What a program cannot write is named, and nothing else.
	out, _ := command(folder, "go", "test", "./controllers", "-run", "TestEachKindIsInEveryList/Queue").CombinedOutput()
	for _, line := range strings.Split(string(out), "\n") {
		if strings.Contains(line, "_test.go:") && !strings.Contains(line, "does not mention Queue") &&
			!strings.Contains(line, "docs/architecture.md does not say") && !strings.Contains(line, "no spec of test/e2e") &&
			!strings.Contains(line, "no proof of Queue") {
			t.Errorf("the generator forgot a place: %s", line)
		}
	}
	if !strings.Contains(string(out), "docs/queue.md does not mention Queue") {
		t.Errorf("no test asks for the page of the kind:\n%s", out)
	}
}

// The folder of a kind may have another name than the kind.
func TestAKindThatExistsIsNotOverwritten(t *testing.T) {
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	folder := copyOf(t, root)
	types := filepath.Join(folder, "api/cache/v1alpha1/redisbackup_types.go")
	before, err := os.ReadFile(types)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []kind{
		{"cache", "v1alpha1", "RedisBackup"}, {"database", "v1alpha1", "EtcdCluster"}, {"queue", "v1", "EtcdBackup"},
		{"app", "v1", "EasyService"},
	} {
		if err := k.write(folder); err == nil || !strings.Contains(err.Error(), "exists") {
			t.Errorf("%s: %v", k.Kind, err)
		}
	}
	if after, err := os.ReadFile(types); err != nil || !bytes.Equal(after, before) {
		t.Errorf("%s was changed: %v", types, err)
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		name  string
		k     kind
		words string
	}{
		{"a group with a dot is refused", kind{"a.b", "v1", "Queue"}, "the group"},
		{"a version without a number is refused", kind{"queue", "v", "Queue"}, "the version"},
		{"a kind in lower case is refused", kind{"queue", "v1", "queue"}, "the kind"},
		{"a keyword of Go is refused", kind{"queue", "v1", "Map"}, "a keyword"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.k.validate(); err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("want %q, got %v", c.words, err)
			}
		})
	}
}

func TestPlural(t *testing.T) {
	plurals := map[string]string{"Queue": "queues", "Proxy": "proxies", "Index": "indexes", "Relay": "relays", "Cache": "caches"}
	for name, want := range plurals {
		if got := (kind{Kind: name}).Plural(); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// copyOf copies what git tracks.
func copyOf(t *testing.T, root string) string {
	t.Helper()
	folder := t.TempDir()
	out, err := command(root, "git", "ls-files", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.FieldsSeq(string(out)) {
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			continue // a link, or removed and not yet committed
		}
		to := filepath.Join(folder, path)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func command(folder, name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir = folder
	return c
}

func run(t *testing.T, folder, name string, args ...string) {
	t.Helper()
	if out, err := command(folder, name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}
