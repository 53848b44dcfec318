package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mainstay-operator/mainstay-operator/test/olm"
	"github.com/mainstay-operator/mainstay-operator/test/registry"
)

// scorecardImage is the one that the bundle's scorecard config names.
const scorecardImage = "quay.io/operator-framework/scorecard-test:v1.42.2"

// sdkShell is the image that operator-sdk run bundle-upgrade unpacks by, within the
// registry that replaces the one it names.
const sdkShell = "ubi9/ubi:9.7"

// runBundle does with the bundles' images what their developer does by hand: the last
// release's runs, is upgraded to this tree's, that is judged where it runs, and removed.
func (d *demo) runBundle(ctx context.Context) error {
	images, err := registry.Open(ctx)
	if err != nil {
		return err
	}
	// Not busybox itself, by another name: containerd would lose sight of the first.
	shell := images.Address + "/" + olm.Image
	_, before, err := d.publish(ctx, images, olm.Previous)
	if err != nil {
		return err
	}
	current, after, err := d.publish(ctx, images, olm.Current)
	if err != nil {
		return err
	}
	if _, err := images.Push(ctx, registry.Image{Name: sdkShell, Settings: []string{"--label", "for=operator-sdk"}}); err != nil {
		return err
	}
	if err := d.leaveToOLM(ctx); err != nil {
		return err
	}
	if err := d.unsubscribe(ctx); err != nil { // a run that failed, or another way to install
		return err
	}
	if _, err := d.output(ctx, "", "kubectl", "delete", "catalogsources.operators.coreos.com,operatorgroups.operators.coreos.com,pods",
		"--all", "--namespace="+olm.Namespace); err != nil {
		return err
	}
	if _, err := d.output(ctx, "", "sh", "-c", "kubectl create namespace "+olm.Namespace+
		" --dry-run=client -o yaml | kubectl apply --server-side -f -"); err != nil {
		return err
	}
	config, err := d.scorecardConfig(ctx, images, current.Bundle)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(config) }()
	for _, args := range [][]string{
		{"run", "bundle", before, "--index-image", shell, "--decompression-image", shell, "--timeout", "5m"},
		{"run", "bundle-upgrade", after, "--timeout", "5m"},
		{"scorecard", current.Bundle, "--config", config, "--storage-image", shell, "--untar-image", shell, "--wait-time", "2m"},
		{"cleanup", olm.Package},
	} {
		args = append([]string{"SSL_CERT_FILE=" + images.Authority, "operator-sdk"}, append(args, "--namespace", olm.Namespace)...)
		if err := d.show(ctx, "env", args...); err != nil {
			return err
		}
	}
	return nil
}

// leaveToOLM removes an operator that kubectl installed, but for the CRDs and so
// its objects: two of them would not know of each other.
func (d *demo) leaveToOLM(ctx context.Context) error {
	owner, err := d.output(ctx, "", "kubectl", "get", "deployment", operatorDeployment, "--namespace="+operatorNamespace,
		"--ignore-not-found", "--output=jsonpath={.metadata.name}/{.metadata.labels.olm\\.owner}")
	if name, owned, _ := strings.Cut(owner, "/"); err != nil || name == "" || owned != "" {
		return err
	}
	manifests, err := d.output(ctx, "", "kubectl", "kustomize", "config/default")
	if err != nil {
		return err
	}
	var ours []string
	for document := range strings.SplitSeq(manifests, "\n---\n") {
		if !strings.Contains(document, "\nkind: CustomResourceDefinition\n") && !strings.Contains(document, "\nkind: Namespace\n") {
			ours = append(ours, document)
		}
	}
	start := time.Now()
	if _, err := d.output(ctx, strings.Join(ours, "\n---\n"), "kubectl", "delete", "--ignore-not-found", "--filename", "-"); err != nil {
		return err
	}
	done(start, "the operator that kubectl installed is removed, its objects stay")
	return nil
}

// publish the image of a release's bundle, and load its manager.
func (d *demo) publish(ctx context.Context, images registry.Registry, which func(root string) (olm.Release, error)) (r olm.Release,
	bundle string, err error) {
	if r, err = d.loadRelease(ctx, which); err == nil {
		bundle, err = olm.PublishBundle(ctx, images, d.root, r)
	}
	return r, bundle, err
}

// loadRelease builds a release's manager under the very name that its bundle gives it.
func (d *demo) loadRelease(ctx context.Context, which func(root string) (olm.Release, error)) (olm.Release, error) {
	start := time.Now()
	r, err := which(d.root)
	if err != nil {
		return olm.Release{}, err
	}
	folder, err := os.MkdirTemp("", "release-")
	if err != nil {
		return olm.Release{}, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	manager, err := r.Build(ctx, d.root, folder)
	if err != nil {
		return olm.Release{}, err
	}
	if err := r.Load(ctx, d.root, manager); err != nil {
		return olm.Release{}, err
	}
	done(start, "image %s", r.Image)
	return r, nil
}

// scorecardConfig is the bundle's own, with the image from where the cluster finds it.
func (d *demo) scorecardConfig(ctx context.Context, images registry.Registry, bundle string) (string, error) {
	image, err := images.Push(ctx, registry.Image{Name: "scorecard-test:local",
		Files: map[string]string{"usr/bin/scorecard-test": filepath.Join(d.root, ".bin", "scorecard-test")}})
	if err != nil {
		return "", err
	}
	content, err := os.ReadFile(filepath.Join(bundle, "tests", "scorecard", "config.yaml"))
	if err != nil {
		return "", err
	}
	file, err := os.CreateTemp("", "scorecard-*.yaml")
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(strings.ReplaceAll(string(content), scorecardImage, image))
	return file.Name(), errors.Join(err, file.Close())
}
