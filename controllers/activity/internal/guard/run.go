package guard

import (
	"errors"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// runCommand runs the command as a child: it passes signals on, reaps orphans, and appends a report to log. It
// returns the command's exit code, 128 + n after signal n, or why the command did not start.
func runCommand(command, env []string, log string, reportsOutput bool) (code int, why string) {
	signals := make(chan os.Signal, 64)
	signal.Notify(signals, passedSignals()...) // before the start, so that no signal is lost
	var total atomic.Int64
	stdout, outEnd, err := newStream(syscall.Stdout, &total)
	if err != nil {
		return ExitRefused, "mainstay: cannot make a pipe: " + err.Error()
	}
	stderr, errEnd, err := newStream(syscall.Stderr, &total)
	if err != nil {
		return ExitRefused, "mainstay: cannot make a pipe: " + err.Error()
	}
	killsBefore := oomKills()
	pid, code, why := startCommand(command, env, []uintptr{uintptr(syscall.Stdin), uintptr(outEnd), uintptr(errEnd)})
	if why != "" {
		return code, why
	}
	_, _ = syscall.Close(outEnd), syscall.Close(errEnd)
	go stdout.copy()
	go stderr.copy()
	ended := make(chan syscall.WaitStatus, 1)
	go func() { ended <- reapUntil(pid) }()
	status := passSignals(pid, signals, ended)

	now := time.Now //nolint:forbidigo // a program
	report := Report{Ended: now().Unix(), OOMKills: since(oomKills(), killsBefore)}
	stdout.commandEnded()
	stderr.commandEnded()
	deadline := time.After(drainLimit)
	copied := awaitCopied(stdout, signals, deadline) && awaitCopied(stderr, signals, deadline)
	if copied && reportsOutput {
		report.Output = &Output{Stdout: stdout.report(), Stderr: stderr.report()}
	}
	appendLine(log, report.String())
	if copied && stdout.bytes+stderr.bytes > 0 {
		unread := func() int { return pending(syscall.Stdout) + pending(syscall.Stderr) }
		drain(now, unread, func(d time.Duration) bool { return waitOrSignal(d, signals) })
	}
	return exitCode(status), ""
}

// passedSignals are all but those that cannot be caught, those of the runtimes of Go (SIGURG) and C (32, 33), and those
// that are for the guard alone: of its children, and of its own pipes.
func passedSignals() []os.Signal {
	const last, c1, c2 = 64, 32, 33
	var all []os.Signal
	for s := syscall.Signal(1); s <= last; s++ {
		switch s {
		case syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGCHLD, syscall.SIGURG, syscall.SIGPIPE, c1, c2:
		default:
			all = append(all, s)
		}
	}
	return all
}

// passSignals passes signals on to the command until it has ended.
func passSignals(pid int, signals <-chan os.Signal, ended <-chan syscall.WaitStatus) syscall.WaitStatus {
	for {
		select {
		case status := <-ended:
			return status
		case s := <-signals:
			_ = syscall.Kill(pid, s.(syscall.Signal)) // it may have ended
		}
	}
}

// reapUntil reaps every child until the command has ended: the first process of a container is the parent of orphans.
func reapUntil(pid int) syscall.WaitStatus {
	for {
		var status syscall.WaitStatus
		child, err := syscall.Wait4(-1, &status, 0, nil)
		if child == pid || err != nil && !errors.Is(err, syscall.EINTR) {
			return status
		}
	}
}

func exitCode(status syscall.WaitStatus) int {
	const shell = 128
	if status.Signaled() {
		return shell + int(status.Signal())
	}
	return status.ExitStatus()
}

// awaitCopied waits until a stream was copied, and reports whether it was; a signal or the deadline ends the wait.
func awaitCopied(s *stream, signals <-chan os.Signal, deadline <-chan time.Time) bool {
	select {
	case <-s.copied:
		return true
	case <-signals:
	case <-deadline:
	}
	return false
}

// waitOrSignal waits, and reports whether it did so to the end.
func waitOrSignal(d time.Duration, signals <-chan os.Signal) bool {
	select {
	case <-time.After(d):
		return true
	case <-signals:
		return false
	}
}

// appendLine appends a line to what the command has written to the file.
func appendLine(path, line string) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return // a runtime without it
	}
	if info, err := file.Stat(); err == nil && info.Size() > 0 {
		line = "\n" + line
	}
	_, _ = file.WriteString(line)
	_ = file.Close()
}
