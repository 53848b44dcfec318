package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/mainstay-operator/mainstay-operator/api"
	"github.com/mainstay-operator/mainstay-operator/hack/internal/proxy"
)

// demo knows the checkout and the cluster.
type demo struct {
	root string
	// local is true on the cluster of hack/cluster.
	local bool
	// image of the operator; empty means the one that config/manager names.
	image string

	scheme *runtime.Scheme
}

// newDemo reads the environment, and completes it for the programs it runs.
func newDemo() (*demo, error) {
	root, err := findRoot()
	if err != nil {
		return nil, err
	}
	log.SetLogger(zap.New(zap.WriteTo(io.Discard))) // the demo speaks for itself
	d := &demo{root: root, image: os.Getenv("IMG"), scheme: runtime.NewScheme()}
	utilruntime.Must(errors.Join(clientgoscheme.AddToScheme(d.scheme), api.AddToScheme(d.scheme), operators.AddToScheme(d.scheme)))
	switch cluster := os.Getenv("CLUSTER"); cluster {
	case "", "local":
		d.local = true
		err = errors.Join(proxy.Bypass(), os.Setenv("KUBECONFIG", filepath.Join(root, ".cluster", "kubeconfig")))
	case "existing":
	default:
		err = fmt.Errorf("CLUSTER is %q: it must be local or existing", cluster)
	}
	return d, errors.Join(err, os.Setenv("PATH", d.path(os.Getenv("PATH"))))
}

// path puts the programs that are built here before others. The local cluster's kubectl, which is of its version, is the first.
func (d *demo) path(others string) string {
	path := filepath.Join(d.root, ".bin") + string(os.PathListSeparator) + others
	if d.local {
		path = filepath.Join(d.root, ".cluster", "bin") + string(os.PathListSeparator) + path
	}
	return path
}

// findRoot walks up from the working directory to the top of the checkout.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "config", "samples")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("not inside a checkout of this repository: no config/samples here or above")
		}
	}
	return "", err
}

// connect makes a client of the cluster that KUBECONFIG names.
func (d *demo) connect() (client.Client, *rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, nil, err
	}
	config.QPS = -1 // no throttle of its own: the server has one
	c, err := client.New(config, client.Options{Scheme: d.scheme})
	return c, config, err
}

// clusterUp makes or repairs the local cluster; an existing one must answer.
func (d *demo) clusterUp(ctx context.Context) error {
	start := time.Now()
	if d.local {
		return d.show(ctx, "go", "run", "-C", "hack/cluster", ".", "up")
	}
	version, err := d.output(ctx, "", "kubectl", "version")
	if err != nil {
		return fmt.Errorf("the cluster that KUBECONFIG names does not answer: %w", err)
	}
	done(start, "%s", version)
	return nil
}

func (d *demo) clusterDown(ctx context.Context) error {
	return d.show(ctx, "go", "run", "-C", "hack/cluster", ".", "down")
}

func (d *demo) clusterLogs() []string {
	if !d.local {
		return []string{"kubectl cluster-info"}
	}
	return []string{
		"go run -C hack/cluster . status",
		filepath.Join(d.root, ".cluster", "log") + "/*.log",
	}
}

func (d *demo) operatorLogs() []string {
	kubectl := "kubectl"
	if d.local {
		kubectl += " --kubeconfig " + os.Getenv("KUBECONFIG")
	}
	return []string{
		kubectl + " get mainstay,pods -A -o wide",
		kubectl + " get events -A --sort-by=.lastTimestamp",
		kubectl + " logs -n " + operatorNamespace + " -l " + operatorSelector + " --prefix --tail=50",
	}
}
