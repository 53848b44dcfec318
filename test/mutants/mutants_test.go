// Package mutants plants known faults into the Redis controller, one at a time: its
// tests must find each.
package mutants

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// root of the repository.
const root = "../.."

// mutant is a fault that some operator for Redis has had.
type mutant struct {
	name     string
	file     string // below controllers/redis
	old, new string
}

var mutants = []mutant{
	{"promote without lineage", "plan_failover.go",
		"m.Fenced() && m.ReplID == rep.ReplID &&", "m.Fenced() &&"},
	{"promote the empty node", "plan_failover.go",
		"last.answers() && last.Keys > 0 {", "last.answers() {"},
	{"no freeze", "plan_failover.go",
		"len(following) > 0 {", "len(following) > 99 {"},
	{"route before promote", "act_failover.go",
		"redis.Status.TargetMaster = s.nodes[0]\n", "redis.Status.TargetMaster, redis.Status.Master = s.nodes[0], s.nodes[0]\n"},
	{"boot as master", "settings.go",
		`{"replicaof", []string{node.FenceHost, "1"}},`, ""},
	{"offsets across histories", "barrier.go",
		"now.ReplID == replID && now.Offset >= offset", "now.Offset >= offset"},
	{"ContainersReady as liveness", "observe.go",
		"m.stopped = c.State.Terminated != nil ||", "m.stopped = !holds(pod, corev1.ContainersReady) || c.State.Terminated != nil ||"},
	{"oldest pod wins", "plan_failover.go",
		"cmp.Or(cmp.Compare(b.Offset, a.Offset),", "cmp.Or(cmp.Compare(ordinal(a.name), ordinal(b.name)),"},
	{"offset read before the fence", "act_failover.go",
		"if err := errors.Join(old.Pause(ctx, patience), old.Fence(ctx)); err != nil {\n\t\treturn err\n\t}\n\tlast := old.Look(ctx) // its final offset\n\tif !last.Fenced() {",
		"last := old.Look(ctx)\n\tif err := errors.Join(old.Pause(ctx, patience), old.Fence(ctx)); err != nil {\n\t\treturn err\n\t}\n\tif !old.Look(ctx).Fenced() {"},
	{"a file that lacks writes is started from", "plan_settings.go",
		"name == appendOnly && s.switched(value) ||", "name == appendOnly ||"},
	{"no snapshot before appending ends", "act_settings.go",
		"|| m.dumped:", "|| !m.dumped:"},
	{"clients not closed", "node/server.go",
		`s.do(ctx, "CLIENT", "KILL", "TYPE", "normal", "USER", "default"),`, ""},
}

func TestEachIsFound(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			// Servers that a mutant has broken are waited for in vain: several at a time.
			test := exec.Command("go", "test", "-short", "-failfast", "-vet=off", "-parallel=4", "-overlay", m.plant(t), "./controllers/redis/...")
			test.Dir = root
			output, err := test.CombinedOutput()
			switch {
			case err == nil:
				t.Errorf("no test fails with it")
			case !bytes.Contains(output, []byte("--- FAIL")):
				t.Errorf("it is no fault of behaviour: %v\n%s", err, output)
			}
		})
	}
}

// plant writes an overlay, https://pkg.go.dev/cmd/go#hdr-Compile_packages_and_dependencies.
func (m mutant) plant(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, "controllers/redis", m.file))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), m.old); n != 1 {
		t.Fatalf("%s: its place is there %d times", m.file, n)
	}
	mutated, overlay := filepath.Join(t.TempDir(), filepath.Base(m.file)), filepath.Join(t.TempDir(), "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {path: mutated}})
	if err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string][]byte{mutated: []byte(strings.Replace(string(source), m.old, m.new, 1)), overlay: replace} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return overlay
}
