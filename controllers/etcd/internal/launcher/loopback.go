package launcher

import (
	"context"
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
	// The ports of a server that works on its member's data before the member serves: others than a member's, so that a client that
	// looks for the member finds no server.
	loopbackClientPort, loopbackPeerPort, loopbackMetricsPort = 12379, 12380, 12381
	// loopbackLimit bounds the time for the start of such a server and its work. A server reads its whole log and all keys first.
	loopbackLimit = 10 * time.Minute
	// endLimit is the time that the server has to end, before it is killed: all that matters is on the disk by then.
	endLimit = 20 * time.Second
)

var (
	errEnded      = errors.New("etcd ended before it was done")
	errAskedToEnd = errors.New("it was asked to end")
)

// loopbackServer is a server that no client reaches, by the addresses (host:port) at which it answers clients and shows metrics.
type loopbackServer struct{ clients, metrics string }

// onLoopback runs a server where no client reaches it, and does the work once the server has a majority, as the only member of a cluster
// has. What the server has acknowledged is in its log, so it does not matter how the server ends. The context of the work ends, with
// the cause, when the server ends, when the launcher is asked to end, and after loopbackLimit.
func onLoopback(command []string, address string, work func(context.Context, loopbackServer) error) error {
	runtime.LockOSThread() // the child is killed when the thread ends that has started it
	defer runtime.UnlockOSThread()
	command = loopbackCommand(command, address)
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
	ctx, stop := boundedBy(asked, ended)
	defer stop()
	at := func(port int) string { return fmt.Sprintf("%s:%d", address, port) }
	server := loopbackServer{clients: at(loopbackClientPort), metrics: at(loopbackMetricsPort)}
	err := awaitMajority(ctx, server.metrics)
	if err == nil {
		err = work(ctx, server)
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	if errors.Is(err, errEnded) {
		<-ended
		err = fmt.Errorf("%w: %s", err, etcd.ProcessState)
	}
	end(etcd, ended)
	return err
}

// boundedBy is a context that ends when the server ends, when the launcher is asked to end, and after loopbackLimit.
func boundedBy(asked <-chan os.Signal, ended <-chan struct{}) (context.Context, context.CancelFunc) {
	bounded, stop := context.WithTimeoutCause(context.Background(), loopbackLimit, fmt.Errorf("it took longer than %s", loopbackLimit))
	ctx, end := context.WithCancelCause(bounded)
	go func() {
		select {
		case <-ended:
			end(errEnded)
		case <-asked:
			end(errAskedToEnd)
		case <-ctx.Done():
		}
	}()
	return ctx, stop
}

// loopbackCommand has etcd listen where no one outside of the pod reaches it: of two words for the same the later counts. What it
// advertises to clients stays, as that becomes part of the list of members.
func loopbackCommand(command []string, address string) []string {
	return append(slices.Clone(command),
		fmt.Sprintf("--listen-client-urls=http://%s:%d", address, loopbackClientPort),
		fmt.Sprintf("--listen-peer-urls=http://%s:%d", address, loopbackPeerPort),
		fmt.Sprintf("--listen-metrics-urls=http://%s:%d", address, loopbackMetricsPort))
}

// awaitMajority returns nil once the server has a majority, and the context's cause if that is not to be.
func awaitMajority(ctx context.Context, metrics string) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
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
