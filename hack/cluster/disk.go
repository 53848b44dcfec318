package main

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// volatile is the value of CLUSTER_STATE with which the state is lost when the machine reboots, or when a dead cluster is cleared away.
const volatile = "volatile"

// diskSize is the size of the file system of a volatile state. Its file takes room for what has been written, also after that is deleted.
const diskSize = 64 << 30

// mountOptions are those of this file system. Without barriers a program that syncs a file waits for the page cache, not for the disk
// (ext4(5)). With a slow disk, or next to compilers, etcd would delay the whole cluster.
const mountOptions = "loop,noatime,nobarrier"

// mountVolatile mounts a separate file system at the state's folder, if CLUSTER_STATE asks for it and no cluster exists. Its file has no
// name, so nothing is left of it when it is unmounted.
func mountVolatile(ctx context.Context, l layout) error {
	switch asked := os.Getenv("CLUSTER_STATE"); {
	case asked == "":
		return nil
	case asked != volatile:
		return fmt.Errorf("CLUSTER_STATE is %q: leave it empty, or set it to %q", asked, volatile)
	case firstExisting(l.pki("ca.crt")) != "":
		return nil // a cluster keeps its disk
	}
	if err := errors.Join(makeDisk(ctx, l.disk(), l.state()), os.RemoveAll(l.disk())); err != nil {
		return fmt.Errorf("making the file system of CLUSTER_STATE=%s, which needs a loop device (without CLUSTER_STATE none is needed): %w",
			volatile, err)
	}
	return nil
}

// makeDisk makes a file with a file system in it, and mounts it.
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
