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

// runBundle does with the bundle's image what its developer does by hand.
func (d *demo) runBundle(ctx context.Context) error {
	images, err := registry.Open(ctx)
	if err != nil {
		return err
	}
	bundle := filepath.Join(d.root, "bundle")
	csvs, err := olm.CSVs(bundle)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := d.packManager(ctx, csvs[0].Annotations["containerImage"]); err != nil {
		return err
	}
	image, err := olm.PublishBundle(ctx, images, bundle)
	if err != nil {
		return err
	}
	done(began, "image %s", image)
	if err := d.leaveToOLM(ctx); err != nil {
		return err
	}
	if _, err := d.output(ctx, "", "sh", "-c", "kubectl create namespace "+olm.Namespace+" --dry-run=client -o yaml | kubectl apply --server-side -f -"); err != nil {
		return err
	}
	shell := images.Address + "/library/busybox:1.37"
	sdk := func(args ...string) error {
		return d.show(ctx, "env", append([]string{"SSL_CERT_FILE=" + images.Authority, "operator-sdk"}, args...)...)
	}
	if err := sdk("run", "bundle", image, "--namespace", olm.Namespace,
		"--index-image", images.Address+"/"+olmImage, "--decompression-image", shell, "--timeout", "5m"); err != nil {
		return err
	}
	config, err := d.scorecardConfig(ctx, images, bundle)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(config) }()
	return sdk("scorecard", bundle, "--config", config, "--namespace", olm.Namespace,
		"--storage-image", shell, "--untar-image", shell, "--wait-time", "2m")
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
