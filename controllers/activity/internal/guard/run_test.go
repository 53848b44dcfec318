package guard_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mainstay-operator/mainstay-operator/controllers/activity/internal/guard"
)

// start starts the words as a pod's command, and returns what they printed, the report on them and the exit code.
func (p pod) start(words ...string) (out string, report guard.Report, code int) {
	p.t.Helper()
	if err := os.RemoveAll(filepath.Join(p.dir, guard.StartFile)); err != nil {
		p.t.Fatal(err)
	}
	out, _, code = p.run(testProgram(p.t), append([]string{guard.StartCommand, p.dir}, words...)...)
	_, report, reported := guard.SplitMessage(p.message())
	if !reported {
		p.t.Fatalf("no report on %q in %q", words, p.message())
	}
	return out, report, code
}

func TestTheReportStandsForWhatWasPrinted(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		bytes  int64 // of stdout
		whole  bool
	}{
		"nothing":                        {"", 0, true},
		"a line":                         {"echo hello", 6, true},
		"a line without an end":          {"printf END", 3, true},
		"carriage returns do not count":  {`printf 'a\r\nb'`, 3, true},
		"more than a pipe holds":         {"yes é | head -n 200000; printf END", 600003, false},
		"an empty last line":             {`yes é | head -n 200000; printf 'END\n\n'`, 600005, false},
		"a background process that goes": {"sleep 600 & yes é | head -n 200000; printf END", 600003, false},
	} {
		t.Run(name, func(t *testing.T) {
			out, report, code := newPod(t).start("sh", "-c", c.script)
			if code != 0 || report.Output == nil || report.Output.Stdout.Bytes != c.bytes || report.Output.Stderr.Bytes != 0 {
				t.Fatalf("exit code %d, %+v", code, report.Output)
			}
			log := []byte(out[max(0, len(out)-3000):])
			if complete, known := report.Output.IsIn(log, c.whole); !complete || !known {
				t.Error("its own output is not the end of it")
			}
			if complete, known := report.Output.IsIn(log[:max(0, len(log)-1)], c.whole); len(out) > 0 && complete || !known {
				t.Error("the output without its last byte passes for the end of it")
			}
		})
	}
}

func TestBothStreamsAreReported(t *testing.T) {
	_, mixed, _ := newPod(t).start("sh", "-c", "yes out | head -n 3000; yes err | head -n 3000 >&2; echo last; echo worst >&2")
	mixed.Output.Stdout.Since, mixed.Output.Stderr.Since = 0, 0 // which of the two came last is chance
	early := mixed
	early.Output = &guard.Output{Stdout: mixed.Output.Stdout, Stderr: mixed.Output.Stderr}
	early.Output.Stderr.Since = 1 << 20
	for name, c := range map[string]struct {
		report          guard.Report
		log             string // as logs have them: line by line, in some order
		complete, known bool
	}{
		"both ends":                         {mixed, "out\nerr\nlast\nerr\nworst\n", true, true},
		"both ends, in another order":       {mixed, "err\nworst\nout\nlast\n", true, true},
		"no end":                            {mixed, "out\nerr\n", false, true},
		"one end, of two that came last":    {mixed, "out\nerr\nlast\nerr\n", true, false},
		"one end, as the other came early":  {early, "out\nout\nlast\n", true, true},
		"only the end of what came early":   {early, "worst\nout\n", true, false},
		"no end, though another came early": {early, "out\nout\n", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			if complete, known := c.report.Output.IsIn([]byte(c.log), false); complete != c.complete && c.known || known != c.known {
				t.Errorf("complete %t, known %t", complete, known)
			}
		})
	}
}

func TestAReportSurvivesTheMessage(t *testing.T) {
	p := newPod(t)
	script := `printf 'the command says' >` + filepath.Join(p.dir, "termination-log") + `; echo x; exit 3`
	_, report, code := p.start("sh", "-c", script)
	rest, again, ok := guard.SplitMessage(p.message())
	if code != 3 || !ok || rest != "the command says" || again.String() != report.String() {
		t.Errorf("exit code %d, %q, %+v", code, rest, again)
	}
	for _, message := range []string{"", "mainstay: report", "mainstay: report 1 x", "mainstay: report 1 2 3", guard.StartedBefore} {
		if rest, _, ok := guard.SplitMessage(message); ok || rest != message {
			t.Errorf("%q has a report", message)
		}
	}
}

// TestNoChecksumOfWhatIsNotKept checks that no one can try out what a secret output was.
func TestNoChecksumOfWhatIsNotKept(t *testing.T) {
	p := newPod(t)
	p.env = []string{guard.DiscardOutputEnv + "=true"}
	out, report, _ := p.start("sh", "-c", "echo 1234; env")
	if report.Output != nil || strings.Contains(out, "MAINSTAY") {
		t.Errorf("it reports %+v, and shows %q", report.Output, out)
	}
}

func TestAHomeIsWritableUnlessTheUserSaysOtherwise(t *testing.T) {
	p := newPod(t)
	writable := filepath.Join(p.dir, "writable")
	if err := os.Mkdir(writable, 0o700); err != nil {
		t.Fatal(err)
	}
	file := p.write("file", "", 0o600)
	own := filepath.Join(p.dir, guard.HomeFolder)
	for name, c := range map[string]struct{ home, chosen, want string }{
		"none":                         {"", guard.NoChosenHome, own},
		"one that is not there":        {"/no/such", guard.NoChosenHome, own},
		"a file":                       {file, guard.NoChosenHome, own},
		"a writable one":               {writable, guard.NoChosenHome, writable},
		"one that the user has set":    {"/no/such", "/no/such", "/no/such"},
		"an older operator's template": {"/no/such", "", "/no/such"},
	} {
		t.Run(name, func(t *testing.T) {
			p := p
			p.t, p.env = t, []string{"HOME=" + c.home, guard.ChosenHomeEnv + "=" + c.chosen}
			out, _, _ := p.start("sh", "-c", `echo "$HOME ${MAINSTAY_HOME-unset}"`)
			if out != c.want+" unset\n" {
				t.Errorf("got %q, not %q", out, c.want)
			}
		})
	}
	if err := os.WriteFile(filepath.Join(own, "x"), nil, 0o600); err != nil {
		t.Error(err)
	}
}

// TestAHomeOfSomebodyElseIsNotTaken runs the guard as a user who may not write to /, as most images' users may not.
func TestAHomeOfSomebodyElseIsNotTaken(t *testing.T) {
	p := newPod(t)
	if _, why, code := p.run(testProgram(t), guard.InstallCommand, p.dir); code != 0 {
		t.Fatal(why)
	}
	for dir := p.dir; strings.HasPrefix(dir, os.TempDir()+"/"); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o777); err != nil { //nolint:gosec // as the pod's volume is
			t.Fatal(err)
		}
	}
	command := exec.Command(filepath.Join(p.dir, guard.ProgramFile), guard.StartCommand, p.dir, "sh", "-c", `echo "$HOME"`)
	command.Dir = "/"
	command.Env = append(os.Environ(), terminationLogEnv+"=/no/such", "HOME=/", guard.ChosenHomeEnv+"="+guard.NoChosenHome)
	if os.Getuid() == 0 {
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	if out, err := command.CombinedOutput(); err != nil || string(out) != filepath.Join(p.dir, guard.HomeFolder)+"\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// TestSignalsReachTheCommand sends each once the command listens.
func TestSignalsReachTheCommand(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGWINCH} {
		t.Run(s.String(), func(t *testing.T) {
			p := newPod(t)
			script := `trap 'echo heard; exit 7' HUP INT QUIT TERM USR1 WINCH; echo listening; while :; do sleep 0.05; done`
			command := exec.Command(testProgram(t), guard.StartCommand, p.dir, "sh", "-c", script)
			command.Env = append(os.Environ(), terminationLogEnv+"="+filepath.Join(p.dir, "termination-log"))
			out, err := command.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			said := make([]byte, 64)
			n, err := out.Read(said)
			if err != nil || string(said[:n]) != "listening\n" {
				t.Fatalf("%q, %v", said[:n], err)
			}
			if err := command.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			n, _ = out.Read(said)
			_ = command.Wait()
			if string(said[:n]) != "heard\n" || command.ProcessState.ExitCode() != 7 {
				t.Errorf("it said %q, exit code %d", said[:n], command.ProcessState.ExitCode())
			}
		})
	}
}

// TestTheCommandGetsNoReader checks that a command whose output is no longer read ends as it would without a guard.
func TestTheCommandGetsNoReader(t *testing.T) {
	p := newPod(t)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = read.Close()
	command := exec.Command(testProgram(t), guard.StartCommand, p.dir, "yes")
	command.Stdout = write
	command.Env = append(os.Environ(), terminationLogEnv+"="+filepath.Join(p.dir, "termination-log"))
	_ = command.Run()
	_ = write.Close()
	if code := command.ProcessState.ExitCode(); code != 128+int(syscall.SIGPIPE) {
		t.Errorf("exit code %d", code)
	}
}
