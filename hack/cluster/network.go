package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// sysctls are set by kubelet, kube-proxy and ourselves; down restores them.
var sysctls = []string{
	"net/ipv4/ip_forward", "net/ipv4/conf/all/route_localnet", "net/bridge/bridge-nf-call-iptables",
	"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
	"kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes",
}

const sysctlFile = runDir + "/sysctls"

// devices is where the kernel shows network devices.
const devices = "/sys/class/net"

// findBridge looks for the bridge, whose address distinguishes it from another network's.
func findBridge(devices string) (there, ours bool) {
	address, err := os.ReadFile(filepath.Join(devices, bridge, "address"))
	return err == nil, strings.TrimSpace(string(address)) == bridgeMAC
}

// connect makes the bridge that all pods are plugged into.
func connect(ctx context.Context) error {
	there, ours := findBridge(devices)
	if there && !ours {
		return fmt.Errorf("something else on this machine has a network device %[1]s: end what it belongs to, "+
			"or, where nothing uses it any more, ip link delete %[1]s", bridge)
	}
	if err := rangesFree(ctx); err != nil {
		return err
	}
	if !there {
		if _, err := output(ctx, "ip", "link", "add", bridge, "address", bridgeMAC, "type", "bridge"); err != nil {
			return err
		}
	}
	for _, args := range [][]string{
		{"address", "replace", nodeAddress + "/16", "dev", bridge},
		{"link", "set", bridge, "up"},
		// What has no translation must be dropped here, not leave the machine.
		{"route", "replace", serviceRange, "dev", bridge},
	} {
		if _, err := output(ctx, "ip", args...); err != nil {
			return err
		}
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644); err != nil {
		return err
	}
	return acceptPodTraffic(ctx)
}

// rangesFree refuses addresses that something else on this machine uses.
func rangesFree(ctx context.Context) error {
	for _, addresses := range []string{podRange, serviceRange} {
		routes, err := output(ctx, "ip", "-4", "route", "show", "root", addresses)
		if err != nil {
			return err
		}
		for route := range strings.Lines(routes) {
			if !strings.Contains(route, "dev "+bridge+" ") && strings.TrimSpace(route) != "" {
				return fmt.Errorf("the addresses %s are in use on this machine: %s", addresses, strings.TrimSpace(route))
			}
		}
	}
	return nil
}

// bridgeFiltered makes traffic between two pods pass iptables, where the
// kernel can; without it kube-proxy has to masquerade everything.
func bridgeFiltered(ctx context.Context) bool {
	const file = "/proc/sys/net/bridge/bridge-nf-call-iptables"
	if _, err := os.Stat(file); err != nil {
		if _, err := output(ctx, "modprobe", "br_netfilter"); err != nil {
			return false
		}
	}
	return os.WriteFile(file, []byte("1"), 0o644) == nil
}

// disconnect removes the bridge and what is plugged into it.
func disconnect(ctx context.Context) error {
	if _, ours := findBridge(devices); !ours {
		return nil
	}
	ports, _ := filepath.Glob(filepath.Join(devices, bridge, "brif", "*"))
	for _, port := range ports {
		// A port whose other end has just gone is gone, too.
		_, _ = output(ctx, "ip", "link", "delete", filepath.Base(port))
	}
	_, err := output(ctx, "ip", "link", "delete", bridge)
	return err
}

// keepSysctls writes down, once, what the machine had before us.
func keepSysctls() error {
	if _, err := os.Stat(sysctlFile); err == nil {
		return nil
	}
	var lines strings.Builder
	for _, key := range sysctls {
		if value, err := os.ReadFile("/proc/sys/" + key); err == nil {
			fmt.Fprintf(&lines, "%s %s\n", key, strings.TrimSpace(string(value)))
		}
	}
	return os.WriteFile(sysctlFile, []byte(lines.String()), 0o644)
}

func restoreSysctls() error {
	kept, err := os.ReadFile(sysctlFile)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(kept)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if err := os.WriteFile("/proc/sys/"+key, []byte(value), 0o644); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("restore %s: %w", key, err)
		}
	}
	return os.Remove(sysctlFile)
}
