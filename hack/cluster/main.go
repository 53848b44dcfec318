// Command cluster runs a real Kubernetes with one node on this machine: the
// control plane, kubelet, containerd, kube-proxy and DNS as plain processes,
// built from Go modules and Debian packages, without Docker and without
// downloads of prebuilt binaries.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/mainstay-operator/mainstay-operator/hack/internal/proxy"
)

const usage = `usage: go run -C hack/cluster . COMMAND

  up                        start the cluster, or repair it; nothing to do when it is up
  down                      stop it and remove every trace of it
  status                    show its parts; fails unless all of them are up
  kubeconfig                print the path of its kubeconfig
  load-image TAR...         import image archives (docker save or OCI layout)
  image --name N --binary B pack a static binary as an image and import it; further --binary are next to it
  archive --output F ...    the same into a file, or what a Dockerfile FROM scratch copies (--dockerfile)
  exporter                  build and import memcached's exporter, which no sample needs
  etcd-images [VERSION...]  build and import etcd's images: all, or those of versions such as 3.6 or 3.6.16
  registry [HOST...]        serve images over TLS next to the cluster; prints its address and authority; the node looks for images of
                            the hosts, such as ghcr.io, there alone
  volumes                   keep the local volumes ready for use (up runs it as a part)
  snapshot FILE             write what etcd holds into a file
  restore FILE              put it back, and start the control plane again
  assets                    build kube-apiserver, etcd and kubectl and print their folder
`

// command is one verb of the command line.
type command struct {
	run  func(context.Context, layout, []string) error
	root bool // needs Linux and root
}

var commands = map[string]command{
	"up":          {run: func(ctx context.Context, l layout, _ []string) error { return up(ctx, l) }, root: true},
	"down":        {run: func(ctx context.Context, l layout, _ []string) error { return down(ctx, l) }, root: true},
	"status":      {run: func(ctx context.Context, l layout, _ []string) error { return status(ctx, l) }, root: true},
	"load-image":  {run: loadArchives, root: true},
	"image":       {run: loadImage, root: true},
	"exporter":    {run: loadExporter, root: true},
	"etcd-images": {run: loadEtcd, root: true},
	"archive":     {run: archiveImage},
	"registry":    {run: serveImages, root: true},
	"volumes":     {run: func(ctx context.Context, l layout, _ []string) error { return keepVolumes(ctx, l) }, root: true},
	"snapshot":    {run: snapshot, root: true},
	"restore":     {run: restore, root: true},
	"assets":      {run: assets},
	"kubeconfig":  {run: printKubeconfig},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// Daemons and root's tools live where not every user's PATH leads.
	err := errors.Join(proxy.Bypass(),
		os.Setenv("PATH", os.Getenv("PATH")+":/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"))
	if err == nil {
		err = run(ctx, os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		fmt.Fprint(os.Stderr, usage)
		return errors.New("no command given")
	}
	cmd, known := commands[args[0]]
	if !known {
		fmt.Fprint(os.Stderr, usage)
		return fmt.Errorf("unknown command %q", args[0])
	}
	if cmd.root {
		if runtime.GOOS != "linux" {
			return fmt.Errorf("%s needs Linux, this is %s: use kind or any other cluster, and point KUBECONFIG at it", args[0], runtime.GOOS)
		}
		if os.Geteuid() != 0 {
			return fmt.Errorf("%s needs root, for network devices, mounts and cgroups: run it with sudo, or point KUBECONFIG at another cluster",
				args[0])
		}
	}
	l, err := findLayout()
	if err != nil {
		return err
	}
	return cmd.run(ctx, l, args[1:])
}

func printKubeconfig(_ context.Context, l layout, _ []string) error {
	fmt.Println(l.kubeconfig("admin"))
	return nil
}
