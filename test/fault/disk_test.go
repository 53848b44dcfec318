package fault

import "testing"

func TestThrottling(t *testing.T) {
	for name, c := range map[string]struct{ groups, file, limit, unlimited string }{
		"version 1": {"5:memory:/a/podX\n4:blkio:/a/podX\n0::/a/podX\n", "/sys/fs/cgroup/blkio/a/podX/blkio.throttle.write_iops_device", "8:0 20",
			"8:0 0"},
		"version 2": {"0::/a/podX\n", "/sys/fs/cgroup/a/podX/io.max", "8:0 wiops=20", "8:0 wiops=max"},
	} {
		file, limit, unlimited, err := throttling(c.groups, "8:0", 20)
		if err != nil || file != c.file || limit != c.limit || unlimited != c.unlimited {
			t.Errorf("%s: %q %q %q %v", name, file, limit, unlimited, err)
		}
	}
	if _, _, _, err := throttling("4:memory:/a\n", "8:0", 20); err == nil {
		t.Error("a process without such a group is limited")
	}
}
