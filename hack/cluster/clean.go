package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// stopOrder is the reverse of the order of dependence, but for containerd and
// etcd, which the rest leans on to the end.
var stopOrder = []string{
	"volumes", "coredns", "kube-proxy", "kubelet", "kube-scheduler", "kube-controller-manager", "kube-apiserver",
}

// down stops the cluster and removes all of it but the cache of images.
func down(ctx context.Context, l layout) error {
	release, err := lock()
	if err != nil {
		return err
	}
	defer release()
	if err := l.foreign(); err != nil {
		return err
	}
	return runSteps(ctx, []step{
		{"stop everything, remove mounts, network and cgroups", func(ctx context.Context) error {
			if owner() == "" {
				return nil
			}
			return clearMachine(ctx)
		}},
		{"remove " + l.state(), func(ctx context.Context) error {
			if err := unmountBelow(ctx, l.state()); err != nil {
				return err
			}
			return os.RemoveAll(l.state())
		}},
	})
}

// clearMachine removes the processes, mounts, devices, rules and cgroups of
// the cluster that owns this machine, dead or alive. Its state on disk stays,
// as it does when a machine loses power.
func clearMachine(ctx context.Context) error {
	for _, part := range stopOrder { // nobody may start pods again
		if err := stopPart(ctx, part); err != nil {
			return err
		}
	}
	steps := []func(context.Context) error{
		stopPods,
		func(ctx context.Context) error { return stopPart(ctx, "containerd") },
		stopShims,
		func(ctx context.Context) error { return stopPart(ctx, "etcd") },
		func(ctx context.Context) error { return unmountBelow(ctx, layout{Root: owner()}.state(), runDir) },
		removeCgroups,
		disconnect,
		clearRules,
		func(context.Context) error { return restoreSysctls() },
		func(context.Context) error { return removeEmpty() },
		func(context.Context) error { return os.RemoveAll(runDir) },
	}
	for _, do := range steps {
		if err := do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// removeEmpty removes what kubelet and the network plugins make at fixed
// paths, as far as nothing else uses it.
func removeEmpty() error {
	for _, path := range []string{
		"/var/lib/kubelet/device-plugins/kubelet.sock", "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint",
		"/var/lib/kubelet/device-plugins", "/var/lib/kubelet", "/var/log/containers", "/var/lib/cni/results", "/var/lib/cni",
	} {
		err := os.Remove(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTEMPTY) {
			return err
		}
	}
	return nil
}

// stopShims ends the parents of pods that containerd has left behind. They
// are told by the socket they were started for, which is ours alone.
func stopShims(ctx context.Context) error {
	for _, pid := range shims() {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return poll(ctx, 10*time.Second, 50*time.Millisecond, func(context.Context) error {
		if left := shims(); len(left) > 0 {
			return fmt.Errorf("shims of containerd still run: %v", left)
		}
		return nil
	})
}

func shims() []int {
	var pids []int
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		cmdline, err := os.ReadFile(file)
		if err != nil || !isShim(cmdline) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// isShim recognises "containerd-shim-runc-v2 ... -address OUR-SOCKET ...".
func isShim(cmdline []byte) bool {
	args := bytes.Split(cmdline, []byte{0})
	if string(filepath.Base(string(args[0]))) != "containerd-shim-runc-v2" {
		return false
	}
	for i, arg := range args[:len(args)-1] {
		if string(arg) == "-address" && string(args[i+1]) == containerdSocket {
			return true
		}
	}
	return false
}
