package main

import (
	"os"
	"os/exec"
	"testing"
)

func TestProcessRecordSurvivesAFile(t *testing.T) {
	want := process{pid: 4711, start: "99", boot: "boot", config: "digest"}
	got, err := parseProcess(want.String())
	if err != nil || got != want {
		t.Fatalf("got %v, %v; want %v", got, err, want)
	}
	for _, broken := range []string{"", "4711", "x 1 b c", "1 1 b c", "-5 1 b c"} {
		if _, err := parseProcess(broken); err == nil {
			t.Errorf("%q was taken for a process", broken)
		}
	}
}

func TestParseStatCopesWithAnyName(t *testing.T) {
	const rest = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20"
	for _, name := range []string{"(etcd)", "(a b)", "(sh) R 1 (x)"} {
		if start, state := parseStat("7 " + name + rest); start != "4242" || state != "S" {
			t.Errorf("%s: start %q, state %q", name, start, state)
		}
	}
	if start, _ := parseStat("7 (short) S 1"); start != "" {
		t.Errorf("a short line gave start %q", start)
	}
}

func TestOnlyTheVerySameProcessIsAlive(t *testing.T) {
	self, err := identify(os.Getpid(), "c")
	if err != nil || !self.alive() {
		t.Fatalf("this process is not alive: %v", err)
	}
	reused := self
	reused.start = "1"
	rebooted := self
	rebooted.boot = "another"
	if reused.alive() || rebooted.alive() {
		t.Error("a process with our pid but another start or boot was taken for ours")
	}

	child := exec.Command("true")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	ended, _ := identify(child.Process.Pid, "c")
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	if ended.alive() {
		t.Error("a process that has ended is alive")
	}
}

func TestOnlyOurShimsAreShims(t *testing.T) {
	for cmdline, want := range map[string]bool{
		"/usr/bin/containerd-shim-runc-v2\x00-namespace\x00k8s.io\x00-id\x00a\x00-address\x00" + containerdSocket + "\x00": true,
		"containerd-shim-runc-v2\x00-address\x00/run/containerd/containerd.sock\x00":                                       false,
		"cat\x00-address\x00" + containerdSocket + "\x00":                                                                  false,
		"containerd-shim-runc-v2\x00-address":                                                                              false,
		"":                                                                                                                 false,
	} {
		if got := isShim([]byte(cmdline)); got != want {
			t.Errorf("%q: %v, want %v", cmdline, got, want)
		}
	}
}
