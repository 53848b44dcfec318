package fault

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"k8s.io/apimachinery/pkg/types"
)

// Kill sends SIGKILL to the processes of a pod on this node that run a program
// of that name.
func Kill(pod types.UID, program string) error { return signal(pod, program, syscall.SIGKILL) }

// KillCommand sends SIGKILL to the processes of a pod on this node that run a program of that name with that first argument.
func KillCommand(pod types.UID, program, command string) error {
	all, err := Processes(pod, program)
	if err != nil {
		return err
	}
	killed := false
	for _, pid := range all {
		words, err := arguments(pid)
		if err != nil || len(words) < 2 || words[1] != command {
			continue // gone meanwhile, or another
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			return fmt.Errorf("killing %d: %w", pid, err)
		}
		killed = true
	}
	if !killed {
		return fmt.Errorf("pod %s runs no %s %s on this node: %w", pod, program, command, errNone)
	}
	return nil
}

// arguments are the words that a process was started with, the program's name first.
func arguments(pid int) ([]string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return strings.Split(string(text), "\x00"), err
}

// Hang stops these processes: they live, hold their connections and answer
// nothing. They continue where they were when it is undone, if they are there still.
func Hang(pod types.UID, program string) (undo func() error, err error) {
	if err := signal(pod, program, syscall.SIGSTOP); err != nil {
		return nil, err
	}
	return func() error {
		if err := signal(pod, program, syscall.SIGCONT); !errors.Is(err, errNone) {
			return err
		}
		return nil
	}, nil
}

// HangProcess stops a process of this node that is in no pod.
func HangProcess(pid int) (undo func() error, err error) {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return nil, fmt.Errorf("stopping %d: %w", pid, err)
	}
	return func() error { return syscall.Kill(pid, syscall.SIGCONT) }, nil
}

// errNone is the error for a pod that runs no such program on this node.
var errNone = errors.New("no such process")

func signal(pod types.UID, program string, s syscall.Signal) error {
	all, err := Processes(pod, program)
	if err != nil {
		return err
	}
	for _, pid := range all {
		if err := syscall.Kill(pid, s); err != nil {
			return fmt.Errorf("sending %s to %d: %w", s, pid, err)
		}
	}
	return nil
}

// Resident is the memory, in bytes, that the processes of a pod hold which run a program of that name.
func Resident(pod types.UID, program string) (int64, error) {
	all, err := Processes(pod, program)
	if err != nil {
		return 0, err
	}
	var pages int64
	for _, pid := range all {
		// https://man7.org/linux/man-pages/man5/proc_pid_statm.5.html: all, and those in memory.
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
		if err != nil {
			return 0, err
		}
		var size, resident int64
		if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
			return 0, fmt.Errorf("reading the memory of %d: %w", pid, err)
		}
		pages += resident
	}
	return pages * int64(os.Getpagesize()), nil
}

// Processes are those of a pod on this node that run a program of that name, by their numbers. They are known by their cgroup,
// which bears the UID of the pod.
func Processes(pod types.UID, program string) ([]int, error) {
	all, err := running(program)
	if err != nil {
		return nil, err
	}
	var found []int
	for _, pid := range all {
		groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
		if err == nil && strings.Contains(string(groups), "pod"+string(pod)) {
			found = append(found, pid)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("pod %s runs no %s on this node: %w", pod, program, errNone)
	}
	return found, nil
}

// running returns the ids of this node's processes that run a program of that name. It lists no folder but /proc itself:
// to list that of each process takes many times as long.
func running(program string) ([]int, error) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer func() { _ = proc.Close() }()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var found []int
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue // it is no process
		}
		comm, err := os.ReadFile(filepath.Join("/proc", name, "comm"))
		if err == nil && strings.TrimSpace(string(comm)) == program { // it has not ended
			found = append(found, pid)
		}
	}
	return found, nil
}
