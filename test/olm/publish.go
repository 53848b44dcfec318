package olm

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/test/registry"
)

// Namespace that the operator is installed into.
const Namespace = "mainstay-operator-system"

//go:embed subscription.yaml
var subscription string

// Subscription is all that a user applies to have the operator from a catalog's image.
func Subscription(catalog string) string { return strings.ReplaceAll(subscription, "CATALOG", catalog) }

// Publish makes an image that serves a catalog of bundles, the oldest first, and
// gives its reference. The bundles' content is in it, so nobody unpacks images.
func Publish(ctx context.Context, images registry.Registry, bundles ...string) (string, error) {
	csvs, err := CSVs(bundles...)
	if err != nil {
		return "", err
	}
	folder, err := os.MkdirTemp("", "catalog")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(folder)
	if err := Catalog(folder, csvs, bundles...); err != nil {
		return "", err
	}
	opm, err := exec.LookPath("opm")
	if err != nil {
		return "", err
	}
	files := map[string]string{"bin/opm": opm}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		files["configs/"+Package+"/"+e.Name()] = filepath.Join(folder, e.Name())
	}
	return images.Push(ctx, registry.Image{Name: Package + "-catalog:local", Files: files,
		Settings: []string{"--user", "1001", "--entrypoint", "/bin/opm", "--cmd", "serve,/configs",
			"--label", "operators.operatorframework.io.index.configs.v1=/configs"}})
}

// Succeeded is nil when OLM says that the version of that name runs.
func Succeeded(ctx context.Context, c client.Client, name string) error {
	var csv operators.ClusterServiceVersion
	if err := c.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: name}, &csv); err != nil {
		return err
	}
	if csv.Status.Phase != operators.CSVPhaseSucceeded {
		return fmt.Errorf("%s is %s: %s", name, cmp.Or(string(csv.Status.Phase), "not looked at yet"), csv.Status.Message)
	}
	return nil
}
