package cluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Root is the top of the checkout, from wherever below a test runs. A nested module has a go.mod, too, but no PROJECT.
func Root() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "PROJECT")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no PROJECT in or above the working directory")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}

// Kubectl runs the users' own tool, from the PATH or as it was built with the
// cluster, and gives its output.
func Kubectl(ctx context.Context, args ...string) (string, error) {
	program, err := exec.LookPath("kubectl")
	if err != nil {
		root, err := Root()
		if err != nil {
			return "", err
		}
		program = built(root, "kubectl")
	}
	return run(ctx, "", program, args...)
}

// Apply has kubectl apply manifests, whatever else has set their fields.
func Apply(ctx context.Context, manifests string) error {
	folder, err := os.MkdirTemp("", "apply-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	file := filepath.Join(folder, "manifests.yaml")
	if err := os.WriteFile(file, []byte(manifests), 0o600); err != nil {
		return err
	}
	_, err = Kubectl(ctx, "apply", "--server-side", "--force-conflicts", "--filename", file)
	return err
}

// Provide has the cluster of hack/cluster build what no sample needs, by one of its
// commands. Any other cluster pulls its images.
func Provide(ctx context.Context, args ...string) error {
	if !Local() {
		return nil
	}
	return command(ctx, args...)
}

// Pack has the cluster of hack/cluster run a program of its own in pods, such as kube-apiserver: it gives the name of an image that
// starts it.
func Pack(ctx context.Context, program string) (image string, err error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	image = "localhost/" + program + ":e2e"
	return image, command(ctx, "image", "--name", image, "--binary", built(root, program))
}

// built returns where a program is that was built with the cluster: those of Kubernetes are of the cluster's version.
func built(root, program string) string {
	ofCluster := filepath.Join(root, ".cluster", "bin", program)
	if _, err := os.Stat(ofCluster); err == nil {
		return ofCluster
	}
	return filepath.Join(root, ".bin", program)
}

// Snapshot writes what the etcd of hack/cluster holds into a file.
func Snapshot(ctx context.Context, file string) error { return command(ctx, "snapshot", file) }

// Restore has it hold that again. The control plane is away meanwhile, and pods and
// routes stay.
func Restore(ctx context.Context, file string) error { return command(ctx, "restore", file) }

// command of hack/cluster.
func command(ctx context.Context, args ...string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	_, err = run(ctx, root, "go", append([]string{"run", "-C", "hack/cluster", "."}, args...)...)
	return err
}

// run a program in a folder, and give what it prints.
func run(ctx context.Context, dir, program string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(ctx, program, args...)
	command.Dir, command.Env, command.Stdout, command.Stderr = dir, os.Environ(), &stdout, &stderr
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", filepath.Base(program), strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), nil
}

// Diagnose is what a person would look at first when something has failed in a namespace.
func Diagnose(ctx context.Context, namespace string, since time.Time) string {
	var report strings.Builder
	for _, question := range [][]string{
		{"get", "mainstay", "--namespace", namespace, "-o", "yaml"},
		{"get", "all,configmaps,poddisruptionbudgets,persistentvolumeclaims", "--namespace", namespace, "-o", "wide"},
		{"get", "events", "--namespace", namespace, "--sort-by=.metadata.creationTimestamp"},
		{"get", "pods", "--namespace", OperatorNamespace, "-o", "wide"},
		{"logs", "--namespace", OperatorNamespace, "--selector=" + operatorSelector, "--prefix", "--tail=200",
			fmt.Sprintf("--since=%ds", int(time.Since(since).Seconds())+1)},
	} {
		answer, err := Kubectl(ctx, question...)
		if err != nil {
			answer = err.Error()
		}
		fmt.Fprintf(&report, "\n--- kubectl %v\n%s\n", question, answer)
	}
	return report.String()
}
