package guard

import (
	"bytes"
	"os"
	"strconv"
)

// oomFiles have the count of the container's own control group, as the container sees it: cgroup v2, then v1.
var oomFiles = []string{"/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"}

// oomKills returns how many processes of the container the kernel has killed because memory was short, or -1 if that is
// not known.
func oomKills() int64 {
	for _, path := range oomFiles {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		for line := range bytes.Lines(text) {
			if name, count, _ := bytes.Cut(bytes.TrimSpace(line), []byte{' '}); string(name) == "oom_kill" {
				if n, err := strconv.ParseInt(string(count), 10, 64); err == nil {
					return n
				}
			}
		}
	}
	return -1
}

// since returns how many were killed after the first count; -1 if one of them is not known.
func since(now, before int64) int64 {
	if now < 0 || before < 0 {
		return -1
	}
	return now - before
}
