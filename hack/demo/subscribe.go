package main

import (
	"context"
	"strings"
	"time"

	"github.com/mainstay-operator/mainstay-operator/test/olm"
	"github.com/mainstay-operator/mainstay-operator/test/registry"
)

// subscribe has OLM install the operator from a catalog of our own.
func (d *demo) subscribe(ctx context.Context) error {
	version, err := d.loadRelease(ctx, olm.Current)
	if err != nil {
		return err
	}
	bundles, err := olm.Bundles(d.root)
	if err != nil {
		return err
	}
	start := time.Now()
	images, err := registry.Open(ctx)
	if err != nil {
		return err
	}
	catalog, err := olm.Publish(ctx, images, bundles...)
	if err != nil {
		return err
	}
	done(start, "catalog %s", catalog)

	if err := d.leaveToOLM(ctx); err != nil {
		return err
	}
	start = time.Now()
	c, _, err := d.connect()
	if err != nil {
		return err
	}
	for _, s := range []struct {
		manifests string
		done      func(context.Context) error
	}{
		{olm.Source(catalog), func(ctx context.Context) error { return olm.Served(ctx, c, catalog) }},
		{olm.Subscription, func(ctx context.Context) error { return olm.Succeeded(ctx, c, version.Name) }},
	} {
		if _, err := d.output(ctx, s.manifests, "kubectl", "apply", "--server-side", "--force-conflicts", "--filename", "-"); err != nil {
			return err
		}
		if err := poll(ctx, samplesLimit, s.done); err != nil {
			return err
		}
	}
	done(start, "%s Succeeded", version.Name)
	return d.rollout(ctx)
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
	start := time.Now()
	if _, err := d.output(ctx, strings.Join(ours, "\n---\n"), "kubectl", "delete", "--ignore-not-found", "--filename", "-"); err != nil {
		return err
	}
	done(start, "the operator that kubectl installed is removed, its objects stay")
	return nil
}
