package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Debian 13 has the very versions that the samples name.
const (
	suite    = "trixie"
	packages = "redis-server,valkey-server,memcached,nginx-light,procps,busybox-static,ca-certificates"
)

// imageUsers are the users that the images know, by their own numbers
// instead of those that Debian happens to hand out.
var imageUsers = []imageUser{{"redis", 999}, {"valkey", 999}, {"memcache", 11211}, {"nginx", 101}}

type imageUser struct {
	name string
	id   int
}

// debootstrap installs Debian into a folder of its own, and makes it fit the
// images that are made from it.
func debootstrap(ctx context.Context, dir string) error {
	// What an interrupted run has left would be taken for complete.
	if err := removeRootfs(ctx, dir); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil { // as prepare makes it, which comes later
		return err
	}
	note("installing Debian %s with %s for the sample images", suite, packages)
	_, err := output(ctx, "debootstrap", "--variant=minbase", "--include="+packages, suite, dir)
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "debootstrap", "debootstrap.log"))
		return errors.Join(fmt.Errorf("%w\n%s", err, lastLines(string(log), 15)), removeRootfs(ctx, dir))
	}
	for _, file := range []string{"etc/passwd", "etc/group"} {
		if err := rewrite(filepath.Join(dir, file), renumber(file == "etc/passwd")); err != nil {
			return err
		}
	}
	return nil
}

func removeRootfs(ctx context.Context, dir string) error {
	if err := unmountBelow(ctx, dir); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}

func rewrite(path string, change func(string) string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(change(string(content))), 0o644)
}

// renumber replaces imageUsers in a passwd or group file.
func renumber(passwd bool) func(string) string {
	return func(content string) string {
		var lines []string
		for line := range strings.Lines(content) {
			name, _, _ := strings.Cut(line, ":")
			if !slices.ContainsFunc(imageUsers, func(u imageUser) bool { return u.name == name }) {
				lines = append(lines, line)
			}
		}
		for _, u := range imageUsers {
			if passwd {
				lines = append(lines, fmt.Sprintf("%s:x:%d:%d::/nonexistent:/usr/sbin/nologin\n", u.name, u.id, u.id))
			} else {
				lines = append(lines, fmt.Sprintf("%s:x:%d:\n", u.name, u.id))
			}
		}
		return strings.Join(lines, "")
	}
}

// surplus is what Debian installs and no image has: Debian's own settings of
// the servers, whose images have theirs, caches and documentation.
func surplus(name string) bool {
	for _, dir := range []string{
		"dev", "proc", "sys", "run", "tmp", "var/log", "var/cache", "var/lib/apt/lists", "var/lib/redis", "var/lib/valkey",
		"etc/redis", "etc/valkey", "etc/nginx/nginx.conf", "etc/nginx/conf.d", "etc/nginx/sites-enabled", "etc/nginx/sites-available",
		"etc/nginx/modules-enabled", "etc/memcached.conf", "var/www", "usr/share/nginx",
		"usr/share/doc", "usr/share/man", "usr/share/info", "usr/share/locale", "etc/machine-id", "var/lib/systemd",
	} {
		if isBelow(name, dir) {
			return true
		}
	}
	return false
}

// emptyFolders come back empty.
var emptyFolders = []entry{
	{name: "dev/", mode: 0o755}, {name: "proc/", mode: 0o555}, {name: "sys/", mode: 0o555}, {name: "run/", mode: 0o755},
	{name: "run/lock/", mode: 0o1777}, {name: "tmp/", mode: 0o1777}, {name: "var/log/", mode: 0o755}, {name: "var/cache/", mode: 0o755},
}
