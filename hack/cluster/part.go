package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/mainstay-operator/mainstay-operator/hack/internal/wait"
)

// part is one process of the cluster.
type part struct {
	name    string
	argv    []string
	healthy func(context.Context) error
}

const (
	startLimit = 90 * time.Second // on a busy machine with a cold disk
	hangLimit  = 15 * time.Second // until a process that runs but does not answer is restarted
)

// spareTime makes Go programs collect garbage less often: memory is cheaper here than time. What containerd starts,
// the shims and runc, inherits it; containers do not. An API server remembers the last changes of each kind: at a limit of 1 GiB it
// collected garbage without end once a test had stored 150 Secrets of 1 MiB.
var spareTime = []string{"GOGC=400", "GOMEMLIMIT=4GiB"}

// ensure leaves the part running with its present configuration, and healthy.
func (p part) ensure(ctx context.Context, l layout) error {
	config, err := p.config(l)
	if err != nil {
		return err
	}
	if have, alive := running(p.name); alive && have.config == config {
		if wait.For(ctx, hangLimit, 100*time.Millisecond, p.check) == nil {
			return nil
		}
		note("%s (pid %d) does not answer and is restarted", p.name, have.pid)
	}
	if err := stopPart(ctx, p.name); err != nil {
		return err
	}
	if err := p.start(l, config); err != nil {
		return p.failed(l, err)
	}
	if err := wait.For(ctx, startLimit, 50*time.Millisecond, p.check); err != nil {
		return p.failed(l, err)
	}
	return nil
}

// check fails for good once the process has ended.
func (p part) check(ctx context.Context) error {
	if _, alive := running(p.name); !alive {
		return wait.Final(errors.New("the process has ended"))
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return p.healthy(ctx)
}

// start runs the part in a session of its own, so that it outlives us.
func (p part) start(l layout, config string) error {
	log, err := os.OpenFile(l.log(p.name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer closeQuietly(log)
	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = l.Root, log, log, append(environment(), spareTime...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // reaped, should it end while we still look
	started, err := identify(cmd.Process.Pid, config)
	if err != nil {
		return err
	}
	return os.WriteFile(pidFile(p.name), []byte(started.String()), 0o644)
}

// failed says what the part's own log says, and first whether another program has its port: that is the usual cause.
func (p part) failed(l layout, err error) error {
	text, _ := os.ReadFile(l.log(p.name))
	if taken := takenAddress(lastLines(string(text), 15)); taken != "" {
		err = fmt.Errorf("another program listens on %s: find it by `ss -ltnp`, end it, and try again", taken)
	}
	return fmt.Errorf("%w\n--- the end of %s:\n%s", err, l.log(p.name), lastLines(string(text), 15))
}

var inUse = regexp.MustCompile(`listen (?:tcp|udp)[46]? (\S+): bind: address already in use`)

// takenAddress is the address that a program could not listen on, by its log; empty if there is none.
func takenAddress(log string) string {
	if found := inUse.FindStringSubmatch(log); found != nil {
		return found[1]
	}
	return ""
}

// config is a digest of all that a restart would change: arguments, the files
// they name, the environment, and the binary.
func (p part) config(l layout) (string, error) {
	var all bytes.Buffer
	info, err := os.Stat(p.argv[0])
	if err != nil {
		return "", err
	}
	fmt.Fprintln(&all, info.Size(), info.ModTime().UnixNano())
	fmt.Fprintln(&all, spareTime)
	for _, arg := range p.argv {
		fmt.Fprintln(&all, arg)
		_, value, _ := strings.Cut(arg, "=")
		if !strings.HasPrefix(value, l.state("config")) && !strings.HasPrefix(value, l.state("pki")) {
			continue
		}
		content, err := os.ReadFile(value)
		if err != nil {
			return "", err
		}
		all.Write(content)
	}
	return digestOf(all.Bytes()), nil
}
