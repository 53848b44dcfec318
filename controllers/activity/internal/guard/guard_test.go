package guard_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mainstay-operator/mainstay-operator/controllers/activity/internal/guard"
)

// terminationLogEnv is the variable that makes this process the guard; it holds the path of the termination log.
const terminationLogEnv = "GUARD_TEST_LOG"

func TestMain(m *testing.M) {
	if log := os.Getenv(terminationLogEnv); log != "" {
		os.Exit(guard.Main(os.Args[1:], log))
	}
	os.Exit(m.Run())
}

// pod is a folder that stands for a pod, where its containers are started.
type pod struct {
	t   *testing.T
	dir string
	env []string
}

func newPod(t *testing.T) pod {
	t.Helper()
	p := pod{t: t, dir: t.TempDir()}
	p.write("termination-log", "", 0o600)
	return p
}

func (p pod) write(name, content string, mode os.FileMode) string {
	p.t.Helper()
	file := filepath.Join(p.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(content), mode)); err != nil {
		p.t.Fatal(err)
	}
	return file
}

// message returns the termination message.
func (p pod) message() string {
	p.t.Helper()
	content, err := os.ReadFile(filepath.Join(p.dir, "termination-log"))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(content)
}

// run starts a program with these words, and checks that it says the same on stderr and in the log.
func (p pod) run(program string, words ...string) (out, why string, code int) {
	p.t.Helper()
	log := p.write("termination-log", "", 0o600)
	var stdout, stderr bytes.Buffer
	command := exec.Command(program, words...)
	command.Dir, command.Stdout, command.Stderr = p.dir, &stdout, &stderr
	command.Env = append(append(os.Environ(), p.env...), terminationLogEnv+"="+log)
	var exit *exec.ExitError
	if err := command.Run(); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		p.t.Fatal(err)
	}
	why, _, ran := guard.SplitMessage(p.message())
	if !ran && why != strings.TrimSpace(stderr.String()) {
		p.t.Errorf("it said %q, and wrote %q", stderr.String(), why)
	}
	return stdout.String(), why, code
}

func testProgram(t *testing.T) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func TestTheCommandIsStartedOnce(t *testing.T) {
	p := newPod(t)
	installed := filepath.Join(p.dir, guard.ProgramFile)
	for range 2 { // the kubelet may start the init container again
		if _, why, code := p.run(testProgram(t), guard.InstallCommand, p.dir); code != 0 {
			t.Fatal(code, why)
		}
	}
	words := []string{guard.StartCommand, p.dir, "printf", "%s|", "a b", "$HOME", "", "install"}
	if out, why, code := p.run(installed, words...); out != "a b|$HOME||install|" || code != 0 {
		t.Errorf("first start: %q %q, exit code %d", out, why, code)
	}
	if out, why, code := p.run(installed, words...); out != "" || why != guard.StartedBefore || code != guard.ExitRefused {
		t.Errorf("second start: %q %q, exit code %d", out, why, code)
	}
	if _, why, code := p.run(testProgram(t), guard.InstallCommand, p.dir); why != guard.StartedBefore || code != guard.ExitRefused {
		t.Errorf("installed once more: %q, exit code %d", why, code)
	}
}

// TestAMarkedPodStartsNothing has no start file, as if that were gone with the node's disk.
func TestAMarkedPodStartsNothing(t *testing.T) {
	p := newPod(t)
	words := []string{guard.StartCommand, p.dir, "sh", "-c", "echo ${" + guard.StartMarkEnv + "-unset}"}
	p.env = []string{guard.StartMarkEnv + "=test://1"}
	if out, why, code := p.run(testProgram(t), words...); out != "" || why != guard.StartedBefore || code != guard.ExitRefused {
		t.Errorf("marked: %q %q, exit code %d", out, why, code)
	}
	p.env = []string{guard.StartMarkEnv + "="}
	if out, why, code := p.run(testProgram(t), words...); out != "unset\n" || code != 0 {
		t.Errorf("not marked: %q %q, exit code %d", out, why, code)
	}
}

func TestTheCommandFindsItselfAsAContainerWould(t *testing.T) {
	p := newPod(t)
	p.env = []string{"GREETING=hello"}
	script := `echo "$0 $1 $GREETING"; kill -TERM $$`
	out, _, code := p.run(testProgram(t), guard.StartCommand, p.dir, "sh", "-c", script, "me", "$1")
	if out != "me $1 hello\n" || code != 128+int(syscall.SIGTERM) { // as a shell says of a command that a signal ended
		t.Errorf("got %q, exit code %d", out, code)
	}
}

func TestWhatCannotBeStartedIsSaid(t *testing.T) {
	for name, c := range map[string]struct {
		word string
		code int
		says string
	}{
		"in no folder":                   {word: "nothing", code: 127, says: "command: nothing is in no folder of PATH, "},
		"no such file":                   {word: "/no/such", code: 127, says: "command: the image has no /no/such"},
		"a file on its way":              {word: "text/x", code: 127, says: "command: the image has no text/x"},
		"a folder":                       {word: "/", code: 126, says: "command: /: "},
		"a file that cannot be executed": {word: "text", code: 126, says: "text: permission denied"},
		"no shell for it":                {word: "orphan", code: 126, says: "lacks the interpreter or loader of "},
		"no program at all":              {word: "words", code: 126, says: "words: exec format error"},
		"in a later folder":              {word: "both", code: 0},
		"in the current":                 {word: "here", code: 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			p.write("text", "text", 0o600)
			p.write("bin/text", "text", 0o600)
			p.write("bin/orphan", "#!/no/such/shell\n", 0o700)
			p.write("bin/words", "not a program\n", 0o700)
			p.write("bin/both", "#!/bin/sh\n", 0o600)
			p.write("lib/both", "#!/bin/sh\n", 0o700)
			p.write("here", "#!/bin/sh\n", 0o700)
			p.env = []string{"PATH=/no/such:" + p.dir + "/bin:" + p.dir + "/lib:"}
			_, why, code := p.run(testProgram(t), guard.StartCommand, p.dir, c.word)
			if code != c.code || !strings.Contains(why, c.says) {
				t.Errorf("exit code %d: %q", code, why)
			}
		})
	}
}

func TestTheGuardThatCannotGuardStartsNothing(t *testing.T) {
	p := newPod(t)
	missing := filepath.Join(p.dir, "missing")
	if out, why, code := p.run(testProgram(t), guard.StartCommand, missing, "echo"); out != "" || why != guard.StartFileNotWritten ||
		code != guard.ExitRefused {
		t.Errorf("no folder: %q %q, exit code %d", out, why, code)
	}
	if _, why, code := p.run(testProgram(t), guard.InstallCommand, missing); !strings.Contains(why, missing) || code != guard.ExitRefused {
		t.Errorf("nowhere to install: %q, exit code %d", why, code)
	}
	for _, words := range [][]string{nil, {"echo"}, {guard.InstallCommand}, {guard.StartCommand, p.dir},
		{guard.InstallCommand, p.dir, "echo"}} {
		if out, why, code := p.run(testProgram(t), words...); out != "" || !strings.Contains(why, "usage") || code != guard.ExitRefused {
			t.Errorf("%q: %q %q, exit code %d", words, out, why, code)
		}
	}
}
