package launcher

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"
)

const (
	// The ports of a server that makes its member a cluster of one: others than a member's, so that a client that looks for the
	// member finds no server.
	forcedClientPort, forcedPeerPort, forcedMetricsPort = 12379, 12380, 12381
	// forceLimit bounds the time that it takes. A server reads its whole log first.
	forceLimit = 10 * time.Minute
	// endLimit is the time that it has to end, before it is killed: all that matters is on the disk by then.
	endLimit = 20 * time.Second
)

// forcedMarker is the file on the volume that names the last recovery which this data went through.
func forcedMarker(volume, data string) string { return volume + "/forced-" + data }

// forceOnce makes the member a cluster of one, if this recovery has not done so yet. A server that did so and was served from
// would do it again when its container restarts, and drop members that were added since. So it is done by a server that
// no client reaches, and saved before one is started that serves. Killed between the two, it is done again: no client was served, so
// nothing is dropped that anybody relies on.
func forceOnce(command []string, permit Permit, at Paths) error {
	marker := forcedMarker(at.Data, permit.Data)
	if done, err := os.ReadFile(marker); err == nil && string(done) == permit.Force {
		return nil
	} else if err != nil && !os.IsNotExist(err) {
		return err
	}
	if err := force(command, at.Loopback, permit.MinRevision); err != nil {
		return fmt.Errorf("making the member a cluster of one: %w", err)
	}
	return writeDurable(marker, permit.Force, at.Data)
}

// force runs a server that makes its member a cluster of one, until it is one. All that makes it one is in its log then, so it
// does not matter how it ends. It returns a belowAllowedError if its keys end below minRevision.
func force(command []string, address string, minRevision int64) error {
	runtime.LockOSThread() // the child is killed when the thread ends that has started it
	defer runtime.UnlockOSThread()
	command = forcedCommand(command, address)
	etcd := exec.Command(command[0], command[1:]...)
	etcd.Stdout, etcd.Stderr = os.Stdout, os.Stderr
	etcd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // two servers must not have the data
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM, syscall.SIGINT)
	defer signal.Stop(asked)
	if err := etcd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_ = etcd.Wait() // its state says how it has ended
		close(ended)
	}()
	metrics := fmt.Sprintf("%s:%d", address, forcedMetricsPort)
	err := awaitCluster(metrics, asked, ended)
	if errors.Is(err, errEnded) {
		err = fmt.Errorf("%w: %s", err, etcd.ProcessState)
	}
	if err == nil {
		err = checkRevision(metrics, minRevision)
	}
	end(etcd, ended)
	return err
}

// forcedCommand has etcd make its member a cluster of one where no one outside of the pod reaches it: of two words for the same
// the later counts. What it advertises to clients stays, as that becomes part of the list of members.
func forcedCommand(command []string, address string) []string {
	return append(slices.Clone(command), "--force-new-cluster",
		fmt.Sprintf("--listen-client-urls=http://%s:%d", address, forcedClientPort),
		fmt.Sprintf("--listen-peer-urls=http://%s:%d", address, forcedPeerPort),
		fmt.Sprintf("--listen-metrics-urls=http://%s:%d", address, forcedMetricsPort))
}

var errEnded = errors.New("etcd ended before it was one")

// awaitCluster returns nil once the member is a cluster of one, and an error if that is not to be.
func awaitCluster(metrics string, asked <-chan os.Signal, ended <-chan struct{}) error {
	limit := time.After(forceLimit)
	for {
		select {
		case <-ended:
			return errEnded
		case <-asked:
			return errors.New("it was asked to end")
		case <-limit:
			return fmt.Errorf("it took longer than %s", forceLimit)
		case <-time.After(pollInterval): // the server does not notify
			if hasMajority(metrics) {
				return nil
			}
		}
	}
}

// hasMajority reports whether the server finds that a majority of its cluster follows it. It has then written an entry since it
// leads, and with that to its log who its members are.
func hasMajority(metrics string) bool {
	_, err := ask("http://"+metrics+"/readyz/linearizable_read", nil)
	return err == nil
}

// end ends a server, and returns once it has.
func end(etcd *exec.Cmd, ended <-chan struct{}) {
	_ = etcd.Process.Signal(syscall.SIGTERM)
	select {
	case <-ended:
	case <-time.After(endLimit):
		_ = etcd.Process.Kill()
		<-ended
	}
}
