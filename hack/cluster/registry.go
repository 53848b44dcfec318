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
	"regexp"
	"slices"
	"strings"
)

// mirrored are registries whose images containerd always looks for in ours: operator-sdk run
// bundle-upgrade leaves no choice where its shell comes from.
var mirrored = []string{"registry.access.redhat.com"}

// registryAddress is where images can be pushed to, and pulled from by containerd.
const registryAddress = nodeAddress + ":5000"

var (
	crane = []binary{{name: "crane", module: "hack/tools/images", pkg: "github.com/google/go-containerregistry/cmd/crane",
		flags: "-s -w"}}
	registryServer = []binary{{name: "registry", module: "hack/tools/images", pkg: "./registry", flags: "-s -w"}}
)

// serveImages runs a registry next to the cluster, until the cluster goes down. containerd looks for images of the hosts there, and nowhere
// else, also until then: as in a cluster without a network whose administrator has copied the images.
func serveImages(ctx context.Context, l layout, hosts []string) error {
	if err := checkHosts(hosts); err != nil {
		return err
	}
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
		{"mirrors", func(context.Context) error {
			return redirect(l, slices.Concat(mirrored, []string{registryAddress}, hosts))
		}},
		{"registry", func(ctx context.Context) error { return registryPart(l).ensure(ctx, l) }},
		{"base image", func(ctx context.Context) error { return pushBase(ctx, l) }},
	})
	if err == nil {
		fmt.Println(registryAddress, l.state("registry", "registry-ca.crt"))
	}
	return err
}

// registryHost matches the host of an image's name, with or without a port.
var registryHost = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?(:[0-9]+)?$`)

// checkHosts refuses what containerd would look for under another name.
func checkHosts(hosts []string) error {
	for _, host := range hosts {
		if !registryHost.MatchString(host) {
			return fmt.Errorf("%q is no host of a registry: give the part of the images' names before the first slash, such as ghcr.io", host)
		}
	}
	return nil
}

// registryKeys are made once.
func registryKeys(l layout) error {
	dir := l.state("registry")
	if err := os.MkdirAll(filepath.Join(dir, "layers"), 0o700); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, "registry.key")); err == nil { // written last
		return nil
	}
	return issue(dir, "registry-ca", []subject{{file: "registry", name: "registry", hosts: []string{nodeAddress}}})
}

// redirect configures containerd to look for images of the hosts in our registry, which it trusts. The registry is also the server
// that containerd falls back to, or it would ask the host itself. containerd reads the files at each pull.
func redirect(l layout, hosts []string) error {
	mirror := fmt.Sprintf("server = %q\n\n[host.%[1]q]\n  ca = %[2]q\n", "https://"+registryAddress, l.state("registry", "registry-ca.crt"))
	for _, host := range hosts {
		folder := l.state("registries", host)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		if err := writeChanged(filepath.Join(folder, "hosts.toml"), []byte(mirror)); err != nil {
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
