package main

import (
	"context"
	_ "embed"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/mainstay-operator/mainstay-operator/test/olm"
	"github.com/mainstay-operator/mainstay-operator/test/registry"
)

//go:embed manifests/olm.yaml
var olmManifests string

// olmPrograms are what OLM's own image holds, and opm, which unpacks bundles and
// serves catalogs.
var olmPrograms = []string{"olm", "catalog", "copy-content", "cpb", "opm"}

// olmUp runs Operator Lifecycle Manager on the local cluster, built from its module.
func (d *demo) olmUp(ctx context.Context) error {
	if !d.local {
		return fmt.Errorf("OLM is run on the local cluster only: an existing one has its own, see https://olm.operatorframework.io")
	}
	start := time.Now()
	images, err := registry.Open(ctx)
	if err != nil {
		return err
	}
	done(start, "registry %s", images.Address)

	start = time.Now()
	files := map[string]string{}
	for _, program := range olmPrograms {
		files["bin/"+program] = filepath.Join(d.root, ".bin", program)
	}
	files[olm.HealthProbe] = filepath.Join(d.root, ".bin", "grpc-health-probe")
	// The label and the folder make a catalog of it, which is empty so far.
	files["configs/"] = ""
	image, err := images.Push(ctx, registry.Image{Name: olm.Image, Files: files,
		Settings: []string{"--user", "1001", "--label", olm.CatalogLabel}})
	if err != nil {
		return err
	}
	done(start, "image %s", image)

	start = time.Now()
	if err := d.applyOLM(ctx, image); err != nil {
		return err
	}
	done(start, "OLM is available")
	return nil
}

func (d *demo) applyOLM(ctx context.Context, image string) error {
	module, err := d.output(ctx, "", "go", "-C", "hack/tools/olm", "list", "-m", "-f", "{{.Dir}}", "github.com/operator-framework/api")
	if err != nil {
		return err
	}
	crds := filepath.Join(module, "crds")
	for _, args := range [][]string{
		{"apply", "--server-side", "--force-conflicts", "--filename", crds},
		{"wait", "--for=condition=Established", "--timeout=" + rolloutLimit.String(), "--filename", crds},
	} {
		if _, err := d.output(ctx, "", "kubectl", args...); err != nil {
			return err
		}
	}
	manifests := strings.ReplaceAll(olmManifests, "IMAGE", image)
	if _, err := d.output(ctx, manifests, "kubectl", "apply", "--server-side", "--force-conflicts", "--filename", "-"); err != nil {
		return err
	}
	_, err = d.output(ctx, "", "kubectl", "wait", "--for=condition=Available", "--timeout="+rolloutLimit.String(),
		"--namespace=olm", "deployment/olm-operator", "deployment/catalog-operator")
	return err
}

func (d *demo) olmLogs() []string {
	return []string{
		"kubectl get catalogsources,subscriptions,installplans,clusterserviceversions -A -o wide",
		"kubectl get pods -n olm -o wide",
		"kubectl logs -n olm deployment/catalog-operator --tail=50",
		"kubectl logs -n olm deployment/olm-operator --tail=50",
	}
}
