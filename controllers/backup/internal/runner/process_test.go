package runner

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/backup/internal/scratch"
	"github.com/mainstay-operator/mainstay-operator/controllers/backup/internal/store"
	"github.com/mainstay-operator/mainstay-operator/controllers/backup/source"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

func fixed(at time.Time) clock.PassiveClock { return clocktesting.NewFakePassiveClock(at) }

func keepFor(hours int) *metav1.Duration {
	return &metav1.Duration{Duration: time.Duration(hours) * time.Hour}
}

// childEnv has the configuration of a process of this test's program that is a runner.
const childEnv = "MAINSTAY_RUNNER_TEST"

// childConfig says what is around that runner. Its source gives Size bytes that cannot be compressed; -1 has it wait until it ends.
type childConfig struct {
	Dir    string
	Places store.Places
	Size   int64
}

func (c childConfig) dump(ctx context.Context, _ backup.Source, _ string, file source.File) (source.Meta, error) {
	if c.Size < 0 {
		_, _ = io.WriteString(os.Stderr, "dumping\n")
		<-ctx.Done()
		return source.Meta{}, ctx.Err()
	}
	_, err := io.CopyN(file, rand.NewChaCha8([32]byte{1}), c.Size)
	return source.Meta{}, err
}

// child is the runner in a process of its own. It leaves the most memory that it has used in a file.
func child(text string) int {
	var config childConfig
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		panic(err)
	}
	debug.SetMemoryLimit(MemoryLimit)
	code := Main(os.Args[1:], Environment{
		Open:    func(spec commonv1.BackupStore) (store.Store, error) { return store.Open(spec, config.Places) },
		Servers: map[backup.ServerType]Server{backup.Etcd: {Dump: config.dump}},
		Clock:   clock.RealClock{}, Scratch: config.Dir, TerminationLog: filepath.Join(config.Dir, "termination-log"),
		Disk: func(string) (scratch.Space, error) { return scratch.Space{Free: 1 << 40}, nil },
	})
	status, err := os.ReadFile("/proc/self/status")
	if err == nil {
		err = os.WriteFile(filepath.Join(config.Dir, "status"), status, 0o600)
	}
	if err != nil {
		panic(err)
	}
	return code
}

// newChild is a runner that carries out a command.
func newChild(t *testing.T, config childConfig, command string, task backup.Task) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	args, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	runner := exec.CommandContext(t.Context(), "/proc/self/exe", command, "--task", string(args))
	runner.Env = append(os.Environ(), childEnv+"="+string(text))
	return runner
}

var peak = regexp.MustCompile(`(?m)^VmHWM:\s+([0-9]+) kB$`)

// mostMemory is what the process has used at most, in MiB.
func mostMemory(t *testing.T, dir string) int {
	t.Helper()
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		t.Fatal(err)
	}
	found := peak.FindSubmatch(status)
	if found == nil {
		t.Fatalf("%s", status)
	}
	kilobytes, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return kilobytes >> 10
}

// A container of the runner has 96 MiB, of which some is the kernel's.
const memoryOfRunner = 64

// The data is larger than the memory many times over, and does not shrink.
func TestMemoryDoesNotGrowWithTheData(t *testing.T) {
	p := onS3(t)
	server, _ := started()
	config := childConfig{Dir: t.TempDir(), Places: store.Places{Secret: server.SecretDir, CA: server.CADir}, Size: 300 << 20}
	for _, command := range []string{backup.CommandBackup, backup.CommandFetch} {
		if output, err := newChild(t, config, command, p.task(20)).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", command, err, output)
		}
		used := mostMemory(t, config.Dir)
		t.Logf("%s: %d MiB", command, used)
		if used > memoryOfRunner {
			t.Errorf("%s: %d MiB, and it may use %d", command, used, memoryOfRunner)
		}
	}
	if size, err := p.store.Stat(t.Context(), folder+"/"+backup.DataName(backup.Etcd, item(20))); err != nil || size < config.Size {
		t.Errorf("the store has %d bytes: %v", size, err)
	}
}

// A pod that is asked to end removes what it has written, and says why it failed.
func TestARunnerThatIsAskedToEnd(t *testing.T) {
	dir, volume := t.TempDir(), t.TempDir()
	p := newPodOn(t, commonv1.BackupStore{Volume: &commonv1.VolumeStore{ClaimName: "any"}}, store.Places{Volume: volume})
	runner := newChild(t, childConfig{Dir: dir, Places: store.Places{Volume: volume}, Size: -1}, backup.CommandBackup, p.task(20))
	output, err := runner.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := runner.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(output)
	if line, err := lines.ReadString('\n'); line != "dumping\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if err := runner.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, lines)
	if err := runner.Wait(); err == nil || runner.ProcessState.ExitCode() != 1 {
		t.Errorf("%v", err)
	}
	left, err := os.ReadFile(filepath.Join(dir, "termination-log"))
	if err != nil || !strings.Contains(string(left), `{"error":"the pod was asked to stop: `) || strings.Contains(string(left), "permanent") {
		t.Errorf("%s, %v", left, err)
	}
	if got := p.objects(); len(got) != 0 {
		t.Errorf("%q", got)
	}
	if _, err := os.Stat(filepath.Join(dir, spoolFile)); err == nil {
		t.Error("the dump is left")
	}
}
