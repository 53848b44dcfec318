package main

import (
	"context"
	"errors"
	"os"
	"syscall"
)

// revisionBump is by how much a restored etcd counts on: more than it can have counted since the
// snapshot, or who watches would not notice that it went back, https://etcd.io/docs/v3.6/op-guide/recovery/.
const revisionBump = "1000000000"

// snapshot writes what etcd holds into a file.
func snapshot(ctx context.Context, l layout, args []string) error {
	if len(args) != 1 {
		return errors.New("snapshot needs the name of a file")
	}
	if err := l.usable(); err != nil {
		return err
	}
	_, err := output(ctx, l.bin("etcdctl"), "--endpoints="+etcdClients, "--cacert="+l.pki("etcd-ca.crt"),
		"--cert="+l.pki("apiserver-etcd-client.crt"), "--key="+l.pki("apiserver-etcd-client.key"), "snapshot", "save", args[0])
	return err
}

// restore has etcd hold what a snapshot does, and restarts the parts that trust
// what they have read before, as Kubernetes advises. Pods and routes stay.
func restore(ctx context.Context, l layout, args []string) error {
	if len(args) != 1 {
		return errors.New("restore needs the name of a file that snapshot has written")
	}
	release, err := lock()
	if err != nil {
		return err
	}
	defer release()
	if err := l.usable(); err != nil {
		return err
	}
	a, err := newAPI(l, "admin")
	if err != nil {
		return err
	}
	steps := []step{
		{"read the snapshot", func(ctx context.Context) error { return l.readSnapshot(ctx, args[0]) }},
		{"stop kubelet", func(ctx context.Context) error { return stopPart(ctx, "kubelet") }},
		{"stop kube-scheduler", func(ctx context.Context) error { return stopPart(ctx, "kube-scheduler") }},
		{"stop kube-controller-manager", func(ctx context.Context) error { return stopPart(ctx, "kube-controller-manager") }},
		// Asked to end, it would wait for its watches to; and nothing that it writes now is kept.
		{"kill kube-apiserver", func(ctx context.Context) error { return endPart(ctx, "kube-apiserver", syscall.SIGKILL) }},
		{"stop etcd", func(ctx context.Context) error { return stopPart(ctx, "etcd") }},
		{"exchange its data", func(context.Context) error {
			return errors.Join(os.RemoveAll(l.state("etcd")), os.Rename(l.state("etcd.new"), l.state("etcd")))
		}},
	}
	for _, p := range []part{
		etcdPart(l), apiServerPart(l, a.client), controllerManagerPart(l, a.client), schedulerPart(l, a.client), kubeletPart(l),
	} {
		steps = append(steps, step{p.name, func(ctx context.Context) error { return p.ensure(ctx, l) }})
	}
	return runSteps(ctx, steps)
}

// readSnapshot makes etcd's next data folder from the file.
func (l layout) readSnapshot(ctx context.Context, file string) error {
	fresh := l.state("etcd.new")
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	_, err := output(ctx, l.bin("etcdutl"), append([]string{"snapshot", "restore", file,
		"--data-dir=" + fresh, "--bump-revision=" + revisionBump, "--mark-compacted"}, etcdMember...)...)
	return err
}
