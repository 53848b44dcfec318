package main

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

//go:embed manifests/subscription.yaml
var subscription string

const (
	operatorPackage = "mainstay-operator"
	bundleDir       = "bundle"
)

// subscribe has OLM install the operator from a catalog of our own.
func (d *demo) subscribe(ctx context.Context) error {
	csv, err := d.bundleVersion()
	if err != nil {
		return err
	}
	image, _, err := unstructured.NestedString(csv.Object, "metadata", "annotations", "containerImage")
	if err != nil || image == "" {
		return fmt.Errorf("the bundle's CSV has no annotation containerImage: %w", err)
	}
	began := time.Now()
	if err := d.packManager(ctx, image); err != nil {
		return err
	}
	done(began, "image %s", image)

	began = time.Now()
	catalog, err := d.pushCatalog(ctx, csv.GetName())
	if err != nil {
		return err
	}
	done(began, "catalog %s", catalog)

	if err := d.leaveToOLM(ctx); err != nil {
		return err
	}
	began = time.Now()
	manifests := strings.ReplaceAll(subscription, "CATALOG", catalog)
	if _, err := d.output(ctx, manifests, "kubectl", "apply", "--server-side", "--force-conflicts", "--filename", "-"); err != nil {
		return err
	}
	if err := d.installed(ctx, csv.GetName()); err != nil {
		return err
	}
	done(began, "%s Succeeded", csv.GetName())
	return d.rollout(ctx)
}

// bundleVersion is the ClusterServiceVersion of the bundle.
func (d *demo) bundleVersion() (*unstructured.Unstructured, error) {
	content, err := os.ReadFile(filepath.Join(d.root, bundleDir, "manifests", operatorPackage+".clusterserviceversion.yaml"))
	if err != nil {
		return nil, fmt.Errorf("reading the bundle, which make bundle makes: %w", err)
	}
	csv := &unstructured.Unstructured{}
	return csv, yaml.Unmarshal(content, &csv.Object)
}

// pushCatalog makes a catalog that offers the bundle as the head of its one channel.
func (d *demo) pushCatalog(ctx context.Context, version string) (string, error) {
	r, err := d.openRegistry(ctx)
	if err != nil {
		return "", err
	}
	bundle, err := d.output(ctx, "", "opm", "render", bundleDir, "--output=yaml")
	if err != nil {
		return "", err
	}
	folder, err := os.MkdirTemp("", "catalog-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	catalog := fmt.Sprintf(`---
schema: olm.package
name: %[1]s
defaultChannel: stable
---
schema: olm.channel
package: %[1]s
name: stable
entries:
- name: %[2]s
%[3]s
`, operatorPackage, version, bundle)
	file := filepath.Join(folder, "catalog.yaml")
	if err := os.WriteFile(file, []byte(catalog), 0o644); err != nil { //nolint:gosec // for everybody to read
		return "", err
	}
	if _, err := d.output(ctx, "", "opm", "validate", folder); err != nil {
		return "", err
	}
	return r.push(ctx, packed{name: operatorPackage + "-catalog:local",
		files: map[string]string{"bin/opm": filepath.Join(d.root, ".bin", "opm"), "configs/" + operatorPackage + "/catalog.yaml": file},
		with: []string{"--user", "1001", "--entrypoint", "/bin/opm", "--cmd", "serve,/configs",
			"--label", "operators.operatorframework.io.index.configs.v1=/configs"}})
}

// leaveToOLM removes an operator that kubectl installed, but for the CRDs and so
// its objects: two of them would not know of each other.
func (d *demo) leaveToOLM(ctx context.Context) error {
	owner, err := d.output(ctx, "", "kubectl", "get", "deployment", operatorDeployment, "--namespace="+operatorNamespace,
		"--ignore-not-found", "--output=jsonpath={.metadata.name}/{.metadata.labels.olm\\.owner}")
	if name, olm, _ := strings.Cut(owner, "/"); err != nil || name == "" || olm != "" {
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
	began := time.Now()
	if _, err := d.output(ctx, strings.Join(ours, "\n---\n"), "kubectl", "delete", "--ignore-not-found", "--filename", "-"); err != nil {
		return err
	}
	done(began, "the operator that kubectl installed is removed, its objects stay")
	return nil
}

// installed waits until OLM says that the version runs.
func (d *demo) installed(ctx context.Context, version string) error {
	c, _, err := d.connect()
	if err != nil {
		return err
	}
	csv := &unstructured.Unstructured{}
	csv.SetGroupVersionKind(schema.GroupVersionKind{Group: "operators.coreos.com", Version: "v1alpha1", Kind: "ClusterServiceVersion"})
	return poll(ctx, samplesLimit, func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: version}, csv); err != nil {
			return err
		}
		phase, _, _ := unstructured.NestedString(csv.Object, "status", "phase")
		message, _, _ := unstructured.NestedString(csv.Object, "status", "message")
		if phase != "Succeeded" {
			return errors.New(cmp.Or(phase, "no phase") + ": " + message)
		}
		return nil
	})
}
