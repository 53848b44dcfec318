package fault

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// peaksPause is the time between two looks at the processes that are known.
	peaksPause = 50 * time.Millisecond
	// looksPerSearch is how often those are looked at until new ones are searched for, which reads a file of every process.
	looksPerSearch = 5
)

// Peaks are the most memory of their own that processes of this node were seen to hold: pages of files that they map are the
// kernel's, which takes them back when it needs room.
type Peaks struct {
	program, text string

	pids map[int]string // the processes that are known, and the first argument of each

	mu sync.Mutex
	of map[string]int64
}

// WatchPeaks looks, until ctx ends, at the processes that run a program of that name, in whatever pod, and have that text in their
// arguments. What a process holds for the first time just before it ends is not seen,
// nor is a process that lives for less than the time between two searches.
func WatchPeaks(ctx context.Context, program, text string) *Peaks {
	p := &Peaks{program: program, text: text, pids: map[int]string{}, of: map[string]int64{}}
	go func() {
		tick := time.NewTicker(peaksPause)
		defer tick.Stop()
		for n := 0; ctx.Err() == nil; n++ {
			if n%looksPerSearch == 0 {
				p.search()
			}
			p.look()
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	}()
	return p
}

// Bytes that each held at most, by the first argument of the processes.
func (p *Peaks) Bytes() map[string]int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.of)
}

// search finds processes that are not known yet.
func (p *Peaks) search() {
	found, _ := running(p.program) // if /proc cannot be read, the next search reads it
	for _, pid := range found {
		words, err := arguments(pid)
		if err != nil || len(words) < 2 || !strings.Contains(strings.Join(words[1:], " "), p.text) {
			continue // it has ended, or has other arguments
		}
		p.pids[pid] = words[1]
	}
}

func (p *Peaks) look() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for pid, argument := range p.pids {
		status, err := statusOf(pid)
		own := kibibytesIn(status, "RssAnon")
		if err != nil || own == 0 {
			delete(p.pids, pid) // it has ended
			continue
		}
		p.of[argument] = max(p.of[argument], own<<10)
	}
}

// kibibytesIn reads a line of what https://man7.org/linux/man-pages/man5/proc_pid_status.5.html describes; a process that has ended
// has none.
func kibibytesIn(status, name string) int64 {
	for line := range strings.Lines(status) {
		var kibibytes int64
		if _, err := fmt.Sscanf(line, name+": %d kB", &kibibytes); err == nil {
			return kibibytes
		}
	}
	return 0
}

// ForgetPeaks makes the kernel forget the most memory that the programs of that name have held so far in a pod of this node.
func ForgetPeaks(pod types.UID, program string) error {
	all, err := Processes(pod, program)
	for _, pid := range all {
		err = errors.Join(err, forgetPeakOf(pid))
	}
	return err
}

// forgetPeakOf makes the kernel forget it for one process, as https://man7.org/linux/man-pages/man5/proc_pid_clear_refs.5.html says.
func forgetPeakOf(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0o200)
}

// Peak is the most memory, in bytes, that the programs of that name have held in a pod of this node since they were started or
// ForgetPeaks was called. The kernel measures it, so no moment is missed. It is an error if no such program runs.
func Peak(pod types.UID, program string) (int64, error) {
	all, err := Processes(pod, program)
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, pid := range all {
		peak, err := peakOf(pid)
		if err != nil {
			return 0, err
		}
		sum += peak
	}
	if sum == 0 {
		return 0, fmt.Errorf("no %s with memory of its own runs in pod %s", program, pod)
	}
	return sum, nil
}

// peakOf is the high-water mark of one process, pages of mapped files included.
func peakOf(pid int) (int64, error) {
	status, err := statusOf(pid)
	return kibibytesIn(status, "VmHWM") << 10, err
}

func statusOf(pid int) (string, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return string(status), err
}
