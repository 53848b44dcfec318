package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// What /proc/self/mountinfo has of cgroups: version 2 only, as Debian starts since 11; the same in a container; version 1, as
// systemd mounts it with systemd.unified_cgroup_hierarchy=0; and without systemd.
const (
	mountsOfDebian = `24 30 0:22 / /sys rw,nosuid,nodev,noexec,relatime shared:7 - sysfs sysfs rw
28 24 0:7 / /sys/kernel/security rw,nosuid,nodev,noexec,relatime shared:8 - securityfs securityfs rw
29 24 0:25 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot
30 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,errors=remount-ro
31 24 0:26 / /sys/fs/pstore rw,nosuid,nodev,noexec,relatime shared:10 - pstore pstore rw
33 24 0:28 / /sys/fs/bpf rw,nosuid,nodev,noexec,relatime shared:11 - bpf bpf rw,mode=700
`
	mountsOfAContainer = `741 738 0:80 / /sys rw,nosuid,nodev,noexec,relatime - sysfs sysfs rw
749 741 0:28 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw,nsdelegate,memory_recursiveprot
`
	mountsOfVersion1 = `25 23 0:22 / /sys/fs/cgroup ro,nosuid,nodev,noexec shared:9 - tmpfs tmpfs ro,size=4096k,nr_inodes=1024,mode=755,inode64
26 25 0:23 / /sys/fs/cgroup/unified rw,nosuid,nodev,noexec,relatime shared:10 - cgroup2 cgroup2 rw,nsdelegate
27 25 0:24 / /sys/fs/cgroup/systemd rw,nosuid,nodev,noexec,relatime shared:11 - cgroup cgroup rw,xattr,name=systemd
31 25 0:28 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid,nodev,noexec,relatime shared:15 - cgroup cgroup rw,cpu,cpuacct
32 25 0:29 / /sys/fs/cgroup/memory rw,nosuid,nodev,noexec,relatime shared:16 - cgroup cgroup rw,memory
`
	mountsWithoutSystemd = `31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`
)

func TestTheVersionOfCgroupsIsRecognized(t *testing.T) {
	for name, row := range map[string]struct {
		mountinfo string
		dirs      []string
		unified   bool
	}{
		"Debian 11 and later":  {mountsOfDebian, []string{"/sys/fs/cgroup"}, true},
		"a container of those": {mountsOfAContainer, []string{"/sys/fs/cgroup"}, true},
		"version 1 by systemd": {mountsOfVersion1, []string{
			"/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/memory",
		}, false},
		"version 1 without systemd": {mountsWithoutSystemd, []string{
			"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup/unified",
		}, false},
		"version 2 elsewhere":      {"29 24 0:25 / /mnt/cgroup rw - cgroup2 cgroup2 rw\n", nil, false},
		"a cgroup of a pod's view": {"52 31 0:29 / /var/lib/x/sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n", nil, false},
		"a table that is cut off":  {"29 24 0:25 / /sys/fs/cgroup rw", nil, false},
	} {
		if dirs, unified := hierarchies(row.mountinfo); !slices.Equal(dirs, row.dirs) || unified != row.unified {
			t.Errorf("%s: %q, unified %v", name, dirs, unified)
		}
	}
}

// enableControllers writes one controller after the other, so that a file that is no kernel's ends with the last.
func TestEachControllerOfVersion2IsHandedDown(t *testing.T) {
	const controllersOfDebian = "cpuset cpu io memory hugetlb pids rdma misc\n"
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "cgroup.controllers"), []byte(controllersOfDebian), 0o600); err != nil {
		t.Fatal(err)
	}
	enableControllers(dir)
	if got, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control")); err != nil || string(got) != "+misc" {
		t.Errorf("cgroup.subtree_control is %q: %v", got, err)
	}
}

func TestPodsWeighAsMuchAsEightThreads(t *testing.T) {
	for file, want := range map[string]string{"cpu.shares": "8192", "cpu.weight": "800"} {
		dir := t.TempDir()
		path := filepath.Join(dir, file)
		if err := os.WriteFile(path, []byte("1"), 0o600); err != nil {
			t.Fatal(err)
		}
		preferPods(dir)
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s is %q, not %s: %v", file, got, want, err)
		}
	}
}

func TestACgroupWithoutWeightsIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	preferPods(dir)
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("%v were made: %v", files, err)
	}
}
