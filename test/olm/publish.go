package olm

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/test/registry"
)

// CatalogLabel says where in a catalog's image the catalog is.
const CatalogLabel = "operators.operatorframework.io.index.configs.v1=/configs"

// Image is the name, within the registry, of the image that holds OLM. It is an empty catalog as well, with opm to serve it. `make olm-up`
// publishes it.
const Image = "olm:local"

// HealthProbe is where OLM looks in a catalog's image for what asks whether it serves.
const HealthProbe = "bin/grpc_health_probe"

// Namespace that the operator is installed into.
const Namespace = "mainstay-operator-system"

//go:embed catalogsource.yaml
var source string

// Subscription is all that a user applies to have the operator from a catalog.
//
//go:embed subscription.yaml
var Subscription string

// extractContent has OLM serve the content of a catalog's image by its own program, since the image has none.
const extractContent = "    extractContent:\n      catalogDir: /configs\n"

// ContentSource is Source for an image that has only the content of a catalog, as a release's has.
func ContentSource(catalog string) string { return Source(catalog) + extractContent }

// Source is what an administrator applies to have a catalog's image served. Until
// it is, who subscribes is given what the one before offers.
func Source(catalog string) string { return strings.ReplaceAll(source, "CATALOG", catalog) }

// Served is nil when this catalog is served, and no other any more.
func Served(ctx context.Context, c client.Client, catalog string) error {
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace("olm"), client.MatchingLabels{"olm.catalogSource": "mainstay"}); err != nil {
		return err
	}
	if len(pods.Items) != 1 {
		return fmt.Errorf("%d pods serve a catalog", len(pods.Items))
	}
	if !serves(&pods.Items[0], catalog) {
		return fmt.Errorf("%s does not serve %s yet", pods.Items[0].Name, catalog)
	}
	return nil
}

// serves reports whether a pod is ready, and serves this catalog: by the image's own program, or by OLM's, after an init container of the
// image has handed out the content.
func serves(pod *corev1.Pod, catalog string) bool {
	hasImage := func(c corev1.Container) bool { return c.Image == catalog }
	if !slices.ContainsFunc(pod.Spec.InitContainers, hasImage) && !slices.ContainsFunc(pod.Spec.Containers, hasImage) {
		return false
	}
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Ready })
}

// Publish makes an image that serves a catalog of bundles, the oldest first, and gives its reference. It is Image with the bundles'
// content: no tool unpacks images, and nodes pull a few KB.
func Publish(ctx context.Context, images registry.Registry, bundles ...string) (string, error) {
	folder, err := os.MkdirTemp("", "catalog")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if err := Catalog(folder, bundles...); err != nil {
		return "", err
	}
	files := map[string]string{}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		files["configs/"+Package+"/"+e.Name()] = filepath.Join(folder, e.Name())
	}
	return images.Push(ctx, registry.Image{Name: Package + "-catalog:local", Base: Image, Files: files,
		Settings: []string{"--entrypoint", "/bin/opm", "--cmd", "serve,/configs"}})
}

// PublishBundle makes the image of a release's bundle, and gives its reference.
func PublishBundle(ctx context.Context, images registry.Registry, root string, r Release) (string, error) {
	folder, err := os.MkdirTemp("", "bundle")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	name, archive := Package+"-bundle"+strings.Replace(strings.TrimPrefix(r.Name, Package), ".", ":", 1), filepath.Join(folder, "image.tar")
	if err := run(ctx, root, "go", "run", "-C", "hack/cluster", ".", "archive", "--output", archive, "--name", name,
		"--dockerfile", filepath.Join(root, "bundle.Dockerfile"), "--context", filepath.Dir(r.Bundle)); err != nil {
		return "", err
	}
	return images.PushArchive(ctx, name, archive)
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
