package launcher

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
)

// runEtcdutl runs it to its end, or to the launcher's. The error has the last line of what it said.
func runEtcdutl(words []string) error {
	runtime.LockOSThread() // the child is killed when the thread ends that has started it
	defer runtime.UnlockOSThread()
	said := &lastBytes{}
	etcdutl := exec.Command(words[0], words[1:]...)
	etcdutl.Stdout, etcdutl.Stderr = os.Stdout, io.MultiWriter(os.Stderr, said)
	etcdutl.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // two must not have the data
	err := etcdutl.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return fmt.Errorf("etcdutl snapshot restore: %w: %s", err, said.line())
	}
	return err
}

// maxSaid is how much is kept of what a program says, in bytes.
const maxSaid = 1 << 10

// lastBytes keeps the last of what is written.
type lastBytes struct{ kept []byte }

func (l *lastBytes) Write(text []byte) (int, error) {
	l.kept = append(l.kept, text...)
	l.kept = l.kept[max(0, len(l.kept)-maxSaid):]
	return len(text), nil
}

// line is the last line.
func (l *lastBytes) line() string {
	lines := strings.Split(strings.TrimSpace(string(l.kept)), "\n")
	return lines[len(lines)-1]
}
