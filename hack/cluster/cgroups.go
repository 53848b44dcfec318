package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mainstay-operator/mainstay-operator/hack/internal/wait"
)

const cgroupRoot = "/sys/fs/cgroup"

// hierarchies returns where a mountinfo table has cgroups mounted, and whether that is version 2 only: one hierarchy, at
// cgroupRoot itself. With version 1 there is one below it for each controller, and in the hybrid form another of version 2,
// without controllers.
func hierarchies(mountinfo string) (dirs []string, unified bool) {
	for line := range strings.Lines(mountinfo) {
		mount, filesystem, found := strings.Cut(line, " - ")
		fields := strings.Fields(mount)
		if !found || len(fields) < 5 {
			continue
		}
		kind, _, _ := strings.Cut(filesystem, " ")
		switch point := unescape(fields[4]); {
		case kind == "cgroup2" && point == cgroupRoot:
			return []string{point}, true
		case (kind == "cgroup" || kind == "cgroup2") && filepath.Dir(point) == cgroupRoot && !slices.Contains(dirs, point):
			dirs = append(dirs, point)
		}
	}
	return dirs, false
}

// ourCgroups are the folders of our cgroup: one with version 2, one for each
// hierarchy with version 1.
func ourCgroups() (ours []string, unified bool, err error) {
	mountinfo, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, false, err
	}
	dirs, unified := hierarchies(string(mountinfo))
	if len(dirs) == 0 {
		return nil, false, fmt.Errorf("no cgroups are mounted at %s", cgroupRoot)
	}
	for _, dir := range dirs {
		ours = append(ours, filepath.Join(dir, cgroupName))
	}
	return ours, unified, nil
}

// makeCgroups makes the cgroup that holds all pods, so that they are found
// again whatever happens.
func makeCgroups(context.Context) error {
	ours, unified, err := ourCgroups()
	if err != nil {
		return err
	}
	for _, dir := range ours {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("%w: cgroups must be writable here", err)
		}
		if unified {
			enableControllers(cgroupRoot)
			enableControllers(dir)
			preferPods(dir)
			continue
		}
		preferPods(dir)
		// A cpuset of version 1 accepts no process before it has processors and memory.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			if err := inherit(dir, file); err != nil {
				return err
			}
		}
	}
	return nil
}

// enableControllers hands each controller down by itself, since one that
// cannot be must not keep the others back; kubelet names what it misses.
func enableControllers(dir string) {
	controllers, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return
	}
	for _, name := range strings.Fields(string(controllers)) {
		_ = os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+name), 0o644)
	}
}

// podsWeight is the weight of all pods together, in threads outside of them. By default the pods weigh as much as a single thread, and
// wait for the control plane and for the tests next to them.
const podsWeight = 8

// preferPods gives a cgroup that weight. A thread's is 1024 cpu.shares in version 1, and a cpu.weight of 100 in version 2 (cgroups(7)).
// Where a kernel has neither file or refuses the weight, the pods run all the same, only slower.
func preferPods(dir string) {
	for file, single := range map[string]int{"cpu.shares": 1024, "cpu.weight": 100} {
		if path := filepath.Join(dir, file); firstExisting(path) != "" {
			_ = os.WriteFile(path, []byte(strconv.Itoa(podsWeight*single)), 0o644)
		}
	}
}

func inherit(dir, file string) error {
	if firstExisting(filepath.Join(dir, file)) == "" {
		return nil // another hierarchy
	}
	have, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil || strings.TrimSpace(string(have)) != "" {
		return err
	}
	parent, err := os.ReadFile(filepath.Join(filepath.Dir(dir), file))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, file), parent, 0o644)
}

// podProcesses lists the processes in our cgroup.
func podProcesses() []int {
	var pids []int
	ours, _, _ := ourCgroups() // without cgroups there are no pods
	for _, root := range ours {
		_ = filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && filepath.Base(path) == "cgroup.procs" {
				list, _ := os.ReadFile(path)
				pids = append(pids, parsePIDs(string(list))...)
			}
			return nil // a cgroup may go at any time
		})
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}

func parsePIDs(list string) []int {
	var pids []int
	for field := range strings.FieldsSeq(list) {
		// 0 is a process of another pid namespace, and 1 is never in a pod.
		if pid, err := strconv.Atoi(field); err == nil && pid > 1 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// stopPods ends whatever runs in pods: politely, then for good.
func stopPods(ctx context.Context) error {
	for _, round := range []struct {
		signal syscall.Signal
		limit  time.Duration
	}{{syscall.SIGTERM, 3 * time.Second}, {syscall.SIGKILL, 10 * time.Second}} {
		for _, pid := range podProcesses() {
			_ = syscall.Kill(pid, round.signal)
		}
		err := wait.For(ctx, round.limit, 50*time.Millisecond, noPodProcesses)
		if err == nil {
			return nil
		}
		if round.signal == syscall.SIGKILL {
			return err
		}
	}
	return nil
}

func noPodProcesses(context.Context) error {
	if left := podProcesses(); len(left) > 0 {
		return fmt.Errorf("processes of pods still run: %v", left)
	}
	return nil
}

// removeCgroups removes our cgroups, the innermost first.
func removeCgroups(ctx context.Context) error {
	return wait.For(ctx, 10*time.Second, 100*time.Millisecond, func(context.Context) error {
		ours, _, _ := ourCgroups() // without cgroups there are none of ours
		for _, root := range append(ours, filepath.Join(cgroupRoot, "unified", cgroupName)) {
			if err := removeTree(root); err != nil {
				return err
			}
		}
		return nil
	})
}

func removeTree(root string) error {
	var dirs []string
	_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			dirs = append(dirs, path)
		}
		return nil
	})
	slices.Reverse(dirs)
	for _, dir := range dirs {
		if err := os.Remove(dir); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}
