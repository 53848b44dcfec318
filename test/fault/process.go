package fault

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"k8s.io/apimachinery/pkg/types"
)

// Kill sends SIGKILL to the processes of a pod on this node that run a program
// of that name. A pod's processes are known by their cgroup, which bears its UID.
func Kill(pod types.UID, program string) error {
	names, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		return err
	}
	killed := 0
	for _, name := range names {
		comm, err := os.ReadFile(name)
		if err != nil || strings.TrimSpace(string(comm)) != program {
			continue // gone meanwhile, or another
		}
		groups, err := os.ReadFile(filepath.Join(filepath.Dir(name), "cgroup"))
		if err != nil || !strings.Contains(string(groups), "pod"+string(pod)) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err != nil {
			return err
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			return fmt.Errorf("killing %d: %w", pid, err)
		}
		killed++
	}
	if killed == 0 {
		return fmt.Errorf("pod %s runs no %s on this node", pod, program)
	}
	return nil
}
