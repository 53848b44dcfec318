package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mainstay-operator/mainstay-operator/hack/internal/wait"
)

// process identifies a process for good: a pid alone is handed out again
// after its process has ended, and after a boot.
type process struct {
	pid    int
	start  string // clock ticks from boot to its start
	boot   string
	config string // what it was started with, see part.config
}

func (p process) String() string {
	return fmt.Sprintf("%d %s %s %s\n", p.pid, p.start, p.boot, p.config)
}

func parseProcess(line string) (process, error) {
	fields := strings.Fields(line)
	if len(fields) != 4 {
		return process{}, fmt.Errorf("a process record has four fields: %q", line)
	}
	pid, err := strconv.Atoi(fields[0])
	if err != nil || pid <= 1 {
		return process{}, fmt.Errorf("not a process id: %q", fields[0])
	}
	return process{pid: pid, start: fields[1], boot: fields[2], config: fields[3]}, nil
}

// alive reports whether this very process runs; one that has ended but is not
// reaped yet does not.
func (p process) alive() bool {
	start, state := startAndState(p.pid)
	return start != "" && start == p.start && state != "Z" && p.boot == bootID()
}

// identify looks a running process up.
func identify(pid int, config string) (process, error) {
	start, state := startAndState(pid)
	if start == "" || state == "Z" {
		return process{}, errors.New("it ended at once")
	}
	return process{pid: pid, start: start, boot: bootID(), config: config}, nil
}

func startAndState(pid int) (start, state string) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", ""
	}
	return parseStat(string(stat))
}

// parseStat reads fields 22 and 3. The second one is the program's name in
// parentheses, which may hold anything, parentheses too.
func parseStat(stat string) (start, state string) {
	fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
	if len(fields) < 20 {
		return "", ""
	}
	return fields[19], fields[0]
}

func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(id))
}

func pidFile(part string) string { return filepath.Join(runDir, part+".pid") }

// recordedProcess is the process that a pid file names.
func recordedProcess(part string) (process, bool) {
	line, err := os.ReadFile(pidFile(part))
	if err != nil {
		return process{}, false
	}
	p, err := parseProcess(string(line))
	return p, err == nil
}

func running(part string) (process, bool) {
	p, known := recordedProcess(part)
	return p, known && p.alive()
}

// livingParts names the recorded parts that run, whatever started them.
func livingParts() []string {
	files, _ := filepath.Glob(pidFile("*"))
	var living []string
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".pid")
		if _, alive := running(name); alive {
			living = append(living, name)
		}
	}
	return living
}

// stopPart ends a recorded process, gently first, and forgets it.
func stopPart(ctx context.Context, name string) error {
	return endPart(ctx, name, syscall.SIGTERM, syscall.SIGKILL)
}

// endPart sends one signal after the other, each when the one before has not helped.
func endPart(ctx context.Context, name string, signals ...syscall.Signal) error {
	p, known := recordedProcess(name)
	if !known {
		return nil
	}
	gone := func(context.Context) error {
		if p.alive() {
			return fmt.Errorf("%s (pid %d) still runs", name, p.pid)
		}
		return nil
	}
	for _, signal := range signals {
		if !p.alive() {
			break
		}
		if err := syscall.Kill(p.pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("cannot stop %s (pid %d): %w", name, p.pid, err)
		}
		if err := wait.For(ctx, 10*time.Second, 20*time.Millisecond, gone); err != nil && signal == syscall.SIGKILL {
			return err
		}
	}
	return os.Remove(pidFile(name))
}
