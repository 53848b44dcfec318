package source

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/untrusted"
)

const (
	// keptWords is how much is kept of what a server prints, in bytes: the last of it.
	keptWords = 4 << 10
	// startLimit bounds the start of a server from its data, and its check.
	startLimit = 6 * time.Hour
	// endTimeout is the time that a server has to end, before it is killed. Its data is not needed any more.
	endTimeout = 5 * time.Second
)

// scratchServer is a process that serves from data that is being verified.
type scratchServer struct {
	command *exec.Cmd
	printed *lastWords
	ended   chan struct{}
}

// startServer starts a program in a directory. It gets no more of the environment than the path of programs: etcd would take other
// variables as settings. The calling goroutine must be locked to its thread.
func startServer(dir, program string, words ...string) (*scratchServer, error) {
	s := &scratchServer{command: exec.Command(program, words...), printed: &lastWords{}, ended: make(chan struct{})}
	s.command.Dir, s.command.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + dir}
	s.command.Stdout, s.command.Stderr = s.printed, s.printed
	s.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // it ends with us
	if err := s.command.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", program, err)
	}
	go func() {
		_ = s.command.Wait() // its state says how it has ended
		close(s.ended)
	}()
	return s, nil
}

// end ends the server, and returns once it has ended.
func (s *scratchServer) end() {
	_ = s.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(endTimeout):
		_ = s.command.Process.Kill()
		<-s.ended
	}
}

// wait returns once the program has ended, and an error if it did not end well.
func (s *scratchServer) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		s.end()
		return ctx.Err()
	case <-s.ended:
	}
	if !s.command.ProcessState.Success() {
		return s.exitError()
	}
	return nil
}

// exitError reports how the server has ended, with its last output.
func (s *scratchServer) exitError() error {
	return fmt.Errorf("%s has ended, %s: %s", s.command.Args[0], s.command.ProcessState, s.printed)
}

// await asks until the answer is yes. It returns an error if the server ends before, or the context.
func (s *scratchServer) await(ctx context.Context, isReady func(context.Context) (bool, error)) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		ready, err := isReady(ctx)
		if ready || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s has not served from the data in time: %w", s.command.Args[0], ctx.Err())
		case <-s.ended:
			return s.exitError()
		case <-tick.C:
		}
	}
}

// lastWords keeps the end of what is written to it.
type lastWords struct {
	mutex sync.Mutex
	text  []byte
}

func (l *lastWords) Write(p []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.text = append(l.text, p[max(0, len(p)-keptWords):]...); len(l.text) > keptWords {
		l.text = append(l.text[:0], l.text[len(l.text)-keptWords:]...)
	}
	return len(p), nil
}

// all returns what is kept.
func (l *lastWords) all() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return string(l.text)
}

// maxWords is how many of the last lines are repeated in an error.
const maxWords = 3

// String is the last lines, fit for a message.
func (l *lastWords) String() string {
	lines := strings.Split(strings.TrimSpace(l.all()), "\n")
	lines = lines[max(0, len(lines)-maxWords):]
	for i, line := range lines {
		lines[i] = untrusted.Sanitize(line)
	}
	return strings.Join(lines, "; ")
}
