package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// requirement is a file that must be there, and the Debian package that
// brings it. Files are asked for, not packages: a containerd from elsewhere
// is as good, and must not be replaced.
type requirement struct {
	program string // looked for in PATH
	file    string // or one of these patterns
	pkg     string
}

var requirements = []requirement{
	{program: "containerd", pkg: "containerd"},
	{program: "ctr", pkg: "containerd"},
	{program: "runc", pkg: "runc"},
	{program: "iptables", pkg: "iptables"},
	{program: "iptables-save", pkg: "iptables"},
	{program: "conntrack", pkg: "conntrack"},
	{program: "debootstrap", pkg: "debootstrap"},
	{program: "ip", pkg: "iproute2"},
	{program: "modprobe", pkg: "kmod"},
	{program: "umount", pkg: "mount"},
	{program: "mkfs.ext4", pkg: "e2fsprogs"},
	{file: "/usr/lib/cni/bridge:/opt/cni/bin/bridge", pkg: "containernetworking-plugins"},
	{file: "/usr/share/keyrings/debian-archive-keyring.gpg", pkg: "debian-archive-keyring"},
	{file: "/etc/ssl/certs/ca-certificates.crt", pkg: "ca-certificates"},
}

func (r requirement) met() bool {
	if r.program != "" {
		_, err := exec.LookPath(r.program)
		return err == nil
	}
	return firstExisting(strings.Split(r.file, ":")...) != ""
}

func firstExisting(paths ...string) string {
	for _, path := range paths {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// pluginDir is where the network plugins are: Debian's folder or upstream's.
func pluginDir() string {
	return filepath.Dir(firstExisting("/usr/lib/cni/bridge", "/opt/cni/bin/bridge"))
}

func missingPackages() []string {
	var missing []string
	seen := map[string]bool{}
	for _, r := range requirements {
		if !r.met() && !seen[r.pkg] {
			seen[r.pkg] = true
			missing = append(missing, r.pkg)
		}
	}
	return missing
}

// ensurePackages asks apt only for what is missing.
func ensurePackages(ctx context.Context) error {
	missing := missingPackages()
	if len(missing) == 0 {
		return nil
	}
	want := strings.Join(missing, " ")
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("please install %s by the means of this system: only Debian's apt-get is known here", want)
	}
	if err := install(ctx, missing, firstExisting(systemdRuns) != ""); err != nil {
		return err
	}
	if missing := missingPackages(); len(missing) > 0 {
		return errors.New("still missing after apt-get install: " + strings.Join(missing, " "))
	}
	return nil
}

// systemdRuns is where systemd is, if it is this machine's init (sd_booted(3)).
const systemdRuns = "/run/systemd/system"

// services are what Debian starts, at once and at each boot, when it installs one of our packages.
var services = map[string]string{"containerd": "containerd.service"}

// install installs packages, and ends the services that come with them: up starts a containerd of its own, and after down the
// machine runs the services that it ran before. Without systemd they do not start.
func install(ctx context.Context, packages []string, systemd bool) error {
	note("installing %s", strings.Join(packages, " "))
	command := append([]string{"install", "--yes", "--quiet", "--no-install-recommends", "--option=DPkg::Lock::Timeout=120"}, packages...)
	if _, err := output(ctx, "apt-get", command...); err != nil {
		// Package lists are missing or too old.
		if _, err := output(ctx, "apt-get", "update", "--quiet"); err != nil {
			return err
		}
		if _, err := output(ctx, "apt-get", command...); err != nil {
			return err
		}
	}
	for _, name := range packages {
		if service := services[name]; systemd && service != "" {
			if _, err := output(ctx, "systemctl", "disable", "--now", "--quiet", service); err != nil {
				return err
			}
		}
	}
	return nil
}
