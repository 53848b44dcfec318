package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// mirrored are registries whose images containerd looks for in ours: operator-sdk run
// bundle-upgrade leaves no choice where its shell comes from.
var mirrored = []string{"registry.access.redhat.com"}

// registryAddress is where images can be pushed to, and pulled from by containerd.
const registryAddress = nodeAddress + ":5000"

var (
	crane = []binary{{name: "crane", module: "hack/tools/images", pkg: "github.com/google/go-containerregistry/cmd/crane",
		flags: "-s -w"}}
	registryServer = []binary{{name: "registry", module: "hack/tools/images", pkg: "./registry", flags: "-s -w"}}
)

// serveImages runs a registry next to the cluster, until the cluster goes down.
func serveImages(ctx context.Context, l layout, _ []string) error {
	release, err := lock()
	if err != nil {
		return err
	}
	defer release()
	if err := l.usable(); err != nil {
		return err
	}
	err = runSteps(ctx, []step{
		{"binaries", func(ctx context.Context) error {
			if err := build(ctx, l, crane); err != nil {
				return err
			}
			return build(ctx, l, registryServer)
		}},
		{"keys", func(context.Context) error { return registryKeys(l) }},
		{"registry", func(ctx context.Context) error { return registryPart(l).ensure(ctx, l) }},
		{"base image", func(ctx context.Context) error { return pushBase(ctx, l) }},
	})
	if err == nil {
		fmt.Println(registryAddress, l.state("registry", "registry-ca.crt"))
	}
	return err
}

// registryKeys are made once, and containerd is configured to trust them.
func registryKeys(l layout) error {
	dir := l.state("registry")
	if err := os.MkdirAll(filepath.Join(dir, "layers"), 0o700); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, "registry.key")); err != nil { // written last
		if err := issue(dir, "registry-ca", []subject{{file: "registry", name: "registry", hosts: []string{nodeAddress}}}); err != nil {
			return err
		}
	}
	trust := fmt.Sprintf("server = %q\n\n[host.%[1]q]\n  ca = %[2]q\n", "https://"+registryAddress, filepath.Join(dir, "registry-ca.crt"))
	for _, host := range append(mirrored, registryAddress) {
		folder := l.state("registries", host)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		if err := writeChanged(filepath.Join(folder, "hosts.toml"), []byte(trust)); err != nil {
			return err
		}
	}
	return nil
}

// pushBase gives the registry what images of ours stand on: a shell.
func pushBase(ctx context.Context, l layout) error {
	dir, err := os.MkdirTemp(l.state(), "export-")
	if err != nil {
		return err
	}
	archive := filepath.Join(dir, "base.tar")
	_, err = ctr(ctx, "images", "export", archive, busyboxImage)
	if err == nil {
		_, err = output(ctx, "env", "SSL_CERT_FILE="+l.state("registry", "registry-ca.crt"), l.bin("crane"), "push", archive,
			registryAddress+strings.TrimPrefix(busyboxImage, "docker.io"))
	}
	return errors.Join(err, os.RemoveAll(dir))
}

func registryPart(l layout) part {
	dir := l.state("registry")
	return part{
		name: "registry",
		argv: []string{
			l.bin("registry"),
			"--address=" + registryAddress,
			"--folder=" + filepath.Join(dir, "layers"),
			"--tls-cert-file=" + filepath.Join(dir, "registry.crt"),
			"--tls-private-key-file=" + filepath.Join(dir, "registry.key"),
		},
		healthy: func(ctx context.Context) error {
			trusted := x509.NewCertPool()
			certificate, err := os.ReadFile(filepath.Join(dir, "registry-ca.crt"))
			if err != nil {
				return err
			}
			trusted.AppendCertsFromPEM(certificate)
			client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}}}
			defer client.CloseIdleConnections()
			return answers(client, "https://"+registryAddress+"/v2/")(ctx)
		},
	}
}
