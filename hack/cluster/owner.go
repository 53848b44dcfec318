package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// ownerFile names the checkout that the cluster on this machine belongs to.
const ownerFile = runDir + "/owner"

// lock keeps two commands from changing the cluster at once; the second waits.
func lock() (release func(), err error) {
	path := runDir + ".lock"
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		note("waiting for another up or down on this machine")
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
		}
	}
	return func() { _ = file.Close() }, nil
}

// owner is the checkout that this machine's cluster was started from, or "".
func owner() string {
	dir, err := os.ReadFile(ownerFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(dir))
}

// refuseForeign returns an error when a cluster of another checkout runs here. A cluster whose checkout is gone does not count:
// only we can end it.
func (l layout) refuseForeign() error {
	other := owner()
	if other == "" || other == l.Root {
		return nil
	}
	if _, err := os.Stat(filepath.Join(other, "hack", "cluster")); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	living := livingParts()
	if len(living) == 0 {
		return nil
	}
	return fmt.Errorf("a cluster of another checkout runs on this machine, and there can be only one\n"+
		"  it runs in  %s (%s)\n"+
		"  use it      export KUBECONFIG=%s\n"+
		"  or stop it  cd %s && go run -C hack/cluster . down",
		other, strings.Join(living, ", "), layout{Root: other}.kubeconfig("admin"), other)
}

// claim makes this machine's cluster ours, and first removes what a dead one
// has left: another checkout's, or our own when none of its parts runs or its
// state has been deleted under it.
func (l layout) claim(ctx context.Context) error {
	if err := l.refuseForeign(); err != nil {
		return err
	}
	switch {
	case owner() == "":
		if err := noOtherKubernetes(ctx); err != nil {
			return err
		}
	case owner() != l.Root || len(livingParts()) == 0 || firstExisting(l.pki("ca.crt")) == "":
		note("removing what a dead cluster of %s has left", owner())
		if err := clearMachine(ctx); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(runDir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(ownerFile, []byte(l.Root+"\n"), 0o644); err != nil {
		return err
	}
	return keepSysctls()
}
