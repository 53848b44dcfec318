package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
)

// volatile is the value of CLUSTER_STATE with which the state may be lost at the next boot.
const volatile = "volatile"

// diskSize is that of the file system of a volatile state. It takes only the room that is used.
const diskSize = 64 << 30

// mountOptions of that file system. Without barriers a program that syncs a file waits for the page cache and not for a disk
// (ext4(5)): on a machine with a slow one, or next to compilers, etcd would hold up the whole cluster.
const mountOptions = "loop,noatime,nobarrier"

// mountVolatile gives the state a file system of its own, if CLUSTER_STATE asks for that and there is no state yet. Its file has no name,
// so that nothing is left of it once it is unmounted.
func mountVolatile(ctx context.Context, l layout) error {
	switch asked := os.Getenv("CLUSTER_STATE"); {
	case asked == "":
		return nil
	case asked != volatile:
		return fmt.Errorf("CLUSTER_STATE is %q: leave it empty, or set it to %q", asked, volatile)
	case firstExisting(l.pki("ca.crt")) != "":
		return nil // a cluster keeps its disk
	}
	mountinfo, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	if slices.Contains(mountsBelow(string(mountinfo), l.state()), l.state()) {
		return nil // up was cut short here
	}
	image := l.state() + ".disk"
	err = errors.Join(makeDisk(ctx, image, l.state()), os.Remove(image))
	if err != nil {
		return fmt.Errorf("a disk for CLUSTER_STATE=%s, which needs loop devices; unset it to do without: %w", volatile, err)
	}
	return nil
}

// makeDisk makes a file with a file system in it, and mounts that.
func makeDisk(ctx context.Context, image, at string) error {
	file, err := os.OpenFile(image, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(file.Truncate(diskSize), file.Close()); err != nil {
		return err
	}
	if _, err := output(ctx, "mkfs.ext4", "-q", "-F", "-E", "nodiscard,lazy_itable_init=1,lazy_journal_init=1", image); err != nil {
		return err
	}
	if err := os.MkdirAll(at, 0o700); err != nil {
		return err
	}
	_, err = output(ctx, "mount", "--options", mountOptions, "--", image, at)
	return err
}
