package fault

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// clockTicks are those of a second, in which Linux counts the time that a process used: USER_HZ, 100 on all of Go's platforms.
const clockTicks = 100

// CPUTime is the processor's time that a process of this node has used so far, in user mode and in the kernel.
func CPUTime(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return cpuTimeIn(string(stat))
}

// cpuTimeIn reads the fields utime and stime of what https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html describes. The name of the
// program, in parentheses, may have any character.
func cpuTimeIn(stat string) (time.Duration, error) {
	const utime, stime = 14, 15
	fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
	first := 3 // the number of the field after the name
	if len(fields) <= stime-first {
		return 0, fmt.Errorf("%q is not the state of a process", stat)
	}
	var user, system int64
	if _, err := fmt.Sscan(fields[utime-first]+" "+fields[stime-first], &user, &system); err != nil {
		return 0, fmt.Errorf("reading the time of a process: %w", err)
	}
	return time.Duration(user+system) * time.Second / clockTicks, nil
}
