package launcher

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// asLauncher is the variable that makes this process the program; it holds the folder that stands for a pod.
const asLauncher = "LAUNCHER_TEST_POD"

func pathsIn(dir string) Paths {
	return Paths{Permit: dir + "/permit", Data: dir + "/data", Program: dir, Log: dir + "/log", Loopback: loopback(2)}
}

// asNetwork is the variable with the part of the loopback's network that this process and those that it starts have for themselves:
// another may run the same test.
const asNetwork = "LAUNCHER_TEST_NETWORK"

func loopback(host int) string { return fmt.Sprintf("127.77.%s.%d", os.Getenv(asNetwork), host) }

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == fakeEtcd {
		os.Exit(runFakeEtcd(os.Getenv(asLauncher), os.Args[2:]))
	}
	if dir := os.Getenv(asLauncher); dir != "" {
		os.Exit(Main(os.Args[1:], pathsIn(dir)))
	}
	if err := os.Setenv(asNetwork, strconv.Itoa(3+os.Getpid()%250)); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// pod is a folder with a volume and a permit.
func newPod(t *testing.T, permit Permit) string {
	t.Helper()
	dir := t.TempDir()
	text, err := json.Marshal(permit)
	err = errors.Join(err, os.Mkdir(dir+"/data", 0o700), os.WriteFile(dir+"/permit", text, 0o600), os.WriteFile(dir+"/log", nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestOnlyItsOwnDataStartsAMember(t *testing.T) {
	for _, c := range []struct {
		name    string
		permit  Permit
		volume  []string // paths that are there
		started bool     // the pod has started before
		lost    bool
	}{
		{name: "a fresh member starts", permit: Permit{Fresh: true}},
		{name: "what a former member left is dropped", permit: Permit{Fresh: true, Drop: []string{"other"}},
			volume: []string{"other/member/wal/0.wal"}},
		{name: "it starts again when etcd made no log yet", permit: Permit{Fresh: true}, volume: []string{"d"}, started: true},
		{name: "another pod continues where etcd made no log yet", permit: Permit{}, volume: []string{"d"}},
		{name: "it continues with its data", permit: Permit{Ran: true}, volume: []string{"d/member/wal/0.wal"}},
		{name: "what somebody else left is kept", permit: Permit{Fresh: true, Drop: []string{"former", "..", ""}},
			volume: []string{"other/member/wal/0.wal"}},
		{name: "its volume was replaced", permit: Permit{}, lost: true},
		{name: "its volume was emptied under the pod that started", permit: Permit{Fresh: true}, started: true, lost: true},
		{name: "its log was deleted", permit: Permit{Fresh: true, Ran: true}, volume: []string{"d"}, lost: true},
		{name: "what is left of its log is none to etcd", permit: Permit{Ran: true}, volume: []string{"d/member/wal/0.tmp"}, lost: true},
		{name: "it ran, and nothing is left", permit: Permit{Fresh: true, Ran: true}, lost: true},
		{name: "its volume is a former member's", permit: Permit{}, volume: []string{"other/member/wal/0.wal"}, lost: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.permit.Data = "d"
			dir := newPod(t, c.permit)
			fill(t, dir, c.volume, c.started)
			err := checkData(c.permit, pathsIn(dir))
			if lost := isLost(err); lost != c.lost || err != nil && !lost {
				t.Fatalf("got %v", err)
			}
			if _, err := os.Stat(dir + "/data/d"); !c.lost && err != nil {
				t.Error("there is no data directory")
			}
			former, _ := filepath.Glob(dir + "/data/other")
			hadFormer := len(c.volume) > 0 && c.volume[0] == "other/member/wal/0.wal"
			if kept := len(former) > 0; kept != (hadFormer && (c.lost || len(c.permit.Drop) != 1)) {
				t.Errorf("the former member's data is kept: %v", kept)
			}
			if c.lost {
				return
			}
			// Whatever comes next in this pod, its empty volume is a lost one.
			if err := os.RemoveAll(dir + "/data/d"); err != nil {
				t.Fatal(err)
			}
			if err := checkData(c.permit, pathsIn(dir)); !isLost(err) {
				t.Errorf("it starts with an emptied volume: %v", err)
			}
		})
	}
}

// fill puts these directories on the pod's volume, and whether it has started into the pod.
func fill(t *testing.T, dir string, volume []string, started bool) {
	t.Helper()
	for _, path := range volume {
		if err := os.MkdirAll(dir+"/data/"+path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if started {
		if err := os.WriteFile(dir+"/began-d", nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func isLost(err error) bool { return errors.As(err, new(dataLostError)) }

// run starts the program in the pod and returns what it printed, its message and its exit code.
func run(t *testing.T, dir string, words ...string) (out, message string, code int) {
	t.Helper()
	command := exec.Command(os.Args[0], words...)
	command.Env = append(os.Environ(), asLauncher+"="+dir, PodUIDEnv+"=p1")
	text, err := command.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(dir + "/log")
	if err != nil {
		t.Fatal(err)
	}
	return string(text), string(log), code
}

func TestStart(t *testing.T) {
	dir := newPod(t, Permit{Pod: "p1", Data: "d", Fresh: true, State: StateNew, Token: "t", InitialCluster: []string{"a=u", "b=v"}})
	out, _, code := run(t, dir, StartCommand, "/bin/echo", "--name=a")
	want := "--name=a --data-dir=" + dir + "/data/d --initial-cluster-state=new --initial-cluster-token=t --initial-cluster=a=u,b=v\n"
	if out != want || code != 0 {
		t.Errorf("it ran %q, exit code %d", out, code)
	}
	if err := os.RemoveAll(dir + "/data/d"); err != nil {
		t.Fatal(err)
	}
	if _, message, code := run(t, dir, StartCommand, "/bin/echo"); message != DataLost+"d" || code != ExitDataLost {
		t.Errorf("it said %q, exit code %d", message, code)
	}
}

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name   string
		words  []string
		permit Permit
		want   string
	}{
		{"no words", nil, Permit{}, "mainstay: usage: "},
		{"no command", []string{StartCommand}, Permit{}, "mainstay: usage: "},
		{"no time", []string{HandoverCommand, "soon"}, Permit{}, "mainstay: time: invalid duration"},
		{"a path out of the volume", []string{StartCommand, "/bin/echo"}, Permit{Pod: "p1", Data: "../x", Fresh: true},
			"mainstay: the permit names no data directory: ../x"},
		{"no such program", []string{StartCommand, "/nowhere/etcd"}, Permit{Pod: "p1", Data: "d", Fresh: true},
			"mainstay: exec /nowhere/etcd: no such file"},
		{"no such folder", []string{InstallCommand, "/nowhere"}, Permit{}, "mainstay: open /nowhere/" + ProgramFile},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, message, code := run(t, newPod(t, c.permit), c.words...)
			if !strings.HasPrefix(message, c.want) || code != ExitFailed {
				t.Errorf("it said %q, exit code %d", message, code)
			}
		})
	}
}

func TestItWaitsForAPermitOfItsOwn(t *testing.T) {
	dir := newPod(t, Permit{Pod: "another", Data: "anothers", Fresh: true})
	command := exec.Command(os.Args[0], StartCommand, "/bin/echo", "started")
	command.Env = append(os.Environ(), asLauncher+"="+dir, PodUIDEnv+"=p1")
	out, err := command.StdoutPipe()
	if err = errors.Join(err, command.Start()); err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(Permit{Pod: "p1", Data: "d", Fresh: true, State: StateNew})
	if err := errors.Join(os.WriteFile(dir+"/permit.new", text, 0o600), os.Rename(dir+"/permit.new", dir+"/permit")); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, len("started"))
	if _, err := out.Read(said); err != nil || string(said) != "started" {
		t.Errorf("it said %q, %v", said, err)
	}
	if err := command.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir + "/data/anothers"); !os.IsNotExist(err) {
		t.Errorf("it followed another pod's permit: %v", err)
	}
}

func TestInstall(t *testing.T) {
	dir := newPod(t, Permit{})
	if _, message, code := run(t, dir, InstallCommand, dir); code != 0 {
		t.Fatal(message)
	}
	info, err := os.Stat(dir + "/" + ProgramFile)
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info, err)
	}
}
