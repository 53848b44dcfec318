package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
)

// up starts what does not run and repairs what is broken. Every step leaves
// alone what is already as it should be.
func up(ctx context.Context, l layout) error {
	release, err := lock()
	if err != nil {
		return err
	}
	defer release()
	if l.version, err = chosenVersion(os.Getenv("KUBERNETES"), l.recordedVersion()); err != nil {
		return err
	}
	err = runSteps(ctx, []step{
		{"claim this machine", l.claim},
		{"Debian packages", ensurePackages},
		{"disk", func(ctx context.Context) error { return mountVolatile(ctx, l) }},
		{"binaries and sample images", func(ctx context.Context) error {
			return together(ctx, // compilers keep all cores busy, debootstrap mostly waits
				func(ctx context.Context) error { return buildAll(ctx, l) },
				func(ctx context.Context) error { return archiveSamples(ctx, l) })
		}},
		{"this program", func(context.Context) error { return installSelf(l) }},
		{"folders, keys and settings", func(ctx context.Context) error { return prepareState(ctx, l) }},
		{"cgroups", makeCgroups},
		{"network", connect},
		{"etcd", func(ctx context.Context) error { return etcdPart(l).ensure(ctx, l) }},
		{"containerd", func(ctx context.Context) error { return containerdPart(l).ensure(ctx, l) }},
	})
	if err != nil {
		return err
	}
	a, err := newAPI(l, "admin")
	if err != nil {
		return err
	}
	steps := []step{{"images", func(ctx context.Context) error { return ensureImages(ctx, l) }}}
	for _, p := range apiParts(l, a) {
		steps = append(steps, step{p.name, func(ctx context.Context) error { return p.ensure(ctx, l) }})
		if p.name == "kube-apiserver" {
			steps = append(steps, step{"storage class and roles", func(ctx context.Context) error { return applyObjects(ctx, l) }})
		}
	}
	steps = append(steps, step{"node is ready", func(ctx context.Context) error { return nodeReady(ctx, a) }})
	if err := runSteps(ctx, steps); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "\nKubernetes %s is up:  export KUBECONFIG=%s\n", l.version, l.kubeconfig("admin"))
	return nil
}

// apiParts are the parts from the apiserver on, in the order they start.
func apiParts(l layout, a *api) []part {
	return []part{
		apiServerPart(l, a.client), controllerManagerPart(l, a.client), schedulerPart(l, a.client),
		kubeletPart(l), proxyPart(l), dnsPart(l), volumesPart(l, a),
	}
}

func prepareState(ctx context.Context, l layout) error {
	if err := l.prepare(); err != nil {
		return err
	}
	if err := l.recordVersion(); err != nil {
		return err
	}
	if err := ensurePKI(ctx, l); err != nil {
		return err
	}
	if err := forgetDiscovery(); err != nil {
		return err
	}
	return writeSettings(ctx, l)
}

// installSelf copies this program to where a part can run it from: go run
// removes its own copy at the end.
func installSelf(l layout) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	content, err := os.ReadFile(self)
	if err != nil {
		return err
	}
	if have, err := os.ReadFile(l.bin("cluster")); err == nil && bytes.Equal(have, content) {
		return nil
	}
	fresh := l.bin(".cluster.new")
	if err := os.WriteFile(fresh, content, 0o755); err != nil {
		return err
	}
	return os.Rename(fresh, l.bin("cluster"))
}

func applyObjects(ctx context.Context, l layout) error {
	_, err := output(ctx, l.kubernetesBin("kubectl"), "--kubeconfig="+l.kubeconfig("admin"),
		"apply", "--server-side", "--force-conflicts", "--filename="+l.state("config", "objects.yaml"))
	return err
}
