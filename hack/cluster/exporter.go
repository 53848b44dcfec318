package main

import (
	"context"
	"fmt"
	"os"
)

// exporterImage is what the operator puts next to memcached for its metrics.
const exporterImage = "quay.io/prometheus/memcached-exporter:v0.14.3"

var exporter = []binary{{
	name: "memcached_exporter", module: "hack/tools/exporter",
	pkg: "github.com/prometheus/memcached_exporter/cmd/memcached_exporter", flags: "-s -w",
}}

// loadExporter builds and imports an image that no sample needs: a cluster is up
// sooner without it.
func loadExporter(ctx context.Context, l layout, _ []string) error {
	release, err := lock()
	if err != nil {
		return err
	}
	defer release()
	if err := l.usable(); err != nil {
		return err
	}
	if err := build(ctx, l, exporter); err != nil {
		return err
	}
	image, err := exporterFrom(l.bin(exporter[0].name))
	if err != nil {
		return err
	}
	if err := importImages(ctx, l, []ociImage{image}); err != nil {
		return err
	}
	fmt.Println(image.Name, image.digest())
	return nil
}

// exporterFrom keeps the contract of the image it stands for, whose user has a name
// and no number: runAsNonRoot alone would refuse it.
func exporterFrom(path string) (ociImage, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return ociImage{}, err
	}
	own, err := entriesLayer(append([]entry{
		{name: "bin/", mode: 0o755},
		{name: "bin/memcached_exporter", mode: 0o755, content: content},
	}, accounts...))
	return ociImage{
		Name: exporterImage,
		Config: imageConfig{
			User: "nobody", Env: []string{usualPath}, ExposedPorts: withKey("9150/tcp"), Entrypoint: []string{"/bin/memcached_exporter"},
		},
		Layers: []layer{own},
	}, err
}
