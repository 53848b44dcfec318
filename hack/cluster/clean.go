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
	"strings"
	"syscall"
	"time"

	"github.com/mainstay-operator/mainstay-operator/hack/internal/wait"
)

// stopOrder is the reverse of the order of dependence, but for containerd and
// etcd, which the rest leans on to the end.
var stopOrder = []string{
	"registry", "volumes", "coredns", "kube-proxy", "kubelet", "kube-scheduler", "kube-controller-manager", "kube-apiserver",
}

// down stops the cluster and removes all of it but the cache of images.
func down(ctx context.Context, l layout) error {
	release, err := lock()
	if err != nil {
		return err
	}
	defer release()
	if err := l.refuseForeign(); err != nil {
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
			return errors.Join(os.RemoveAll(l.state()), os.RemoveAll(l.disk()))
		}},
	})
}

// clearMachine removes the processes, mounts, devices, rules and cgroups of
// the cluster that owns this machine, dead or alive. Its state on disk stays,
// as it does when a machine loses power. A volatile state is lost, as then.
func clearMachine(ctx context.Context) error {
	for _, part := range stopOrder { // nothing may start pods again
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
		func(context.Context) error { return removeOutside() },
		func(context.Context) error { return os.RemoveAll(runDir) },
	}
	for _, do := range steps {
		if err := do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// removeOutside removes what kubelet, containerd and the network plugins make
// at paths that cannot be set, unless something else uses it.
func removeOutside() error {
	paths := append(shimSockets(), networkResults()...)
	logs, _ := filepath.Glob("/var/log/containers/*")
	for _, link := range logs {
		if target, err := os.Readlink(link); err == nil && isBelow(target, layout{Root: owner()}.state()) {
			paths = append(paths, link)
		}
	}
	paths = append(paths, "/var/lib/cni/results", "/var/lib/cni", "/var/log/containers", "/run/containerd/s", "/run/containerd",
		"/var/lib/kubelet/device-plugins/kubelet.sock", "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint",
		"/var/lib/kubelet/device-plugins", "/var/lib/kubelet")
	for _, path := range paths {
		err := os.Remove(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTEMPTY) {
			return err
		}
	}
	return nil
}

// networkResults are what the network plugins remember of our pods.
func networkResults() []string {
	var ours []string
	files, _ := filepath.Glob("/var/lib/cni/results/*")
	for _, file := range files {
		if content, err := os.ReadFile(file); err == nil && bytes.Contains(content, []byte(`"`+runDir+`/`)) {
			ours = append(ours, file)
		}
	}
	return ours
}

// shimSockets are those of the shims that could not remove theirs.
func shimSockets() []string {
	var sockets []string
	files, _ := filepath.Glob(runDir + "/containerd/io.containerd.runtime.v2.task/*/*/address")
	for _, file := range files {
		if address, err := os.ReadFile(file); err == nil {
			sockets = append(sockets, strings.TrimPrefix(strings.TrimSpace(string(address)), "unix://"))
		}
	}
	return sockets
}

// stopShims ends the parents of pods that containerd has left behind. They
// are recognized by the socket they were started for, which is ours alone.
func stopShims(ctx context.Context) error {
	for _, pid := range shims() {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return wait.For(ctx, 10*time.Second, 50*time.Millisecond, func(context.Context) error {
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
	if filepath.Base(string(args[0])) != "containerd-shim-runc-v2" {
		return false
	}
	for i, arg := range args[:len(args)-1] {
		if string(arg) == "-address" && string(args[i+1]) == containerdSocket {
			return true
		}
	}
	return false
}
