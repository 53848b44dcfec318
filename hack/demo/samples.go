package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/hack/internal/wait"
	"github.com/mainstay-operator/mainstay-operator/test/samples"
)

const (
	// samplesNamespace is where kubectl puts what names no namespace.
	samplesNamespace = "default"
	// samplesStall is for an image that has to be pulled, and samplesLimit for all of them on a slow machine.
	samplesStall, samplesLimit = 3 * time.Minute, 30 * time.Minute
)

// applySamples applies config/samples and follows each object until it is
// what its spec asks for.
func (d *demo) applySamples(ctx context.Context) error {
	objects, err := samples.Read(d.samplesDir())
	if err != nil {
		return err
	}
	start := time.Now()
	if _, err := d.output(ctx, "", "kubectl", "apply", "--namespace", samplesNamespace, "-k", d.samplesDir()); err != nil {
		return err
	}
	done(start, "kubectl apply -k config/samples")
	c, _, err := d.connect()
	if err != nil {
		return err
	}
	return follow(ctx, c, start, objects)
}

// follow prints each object once it is what its spec asks for, and ends when all are.
func follow(ctx context.Context, c client.Client, start time.Time, objects []*unstructured.Unstructured) error {
	pending := objects
	return pollProgress(ctx, samplesStall, samplesLimit, func(ctx context.Context) error {
		var left []*unstructured.Unstructured
		var why []error
		for _, obj := range pending {
			obj.SetNamespace(samplesNamespace)
			if err := c.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
				return err
			}
			switch fate, words := samples.PhaseOf(obj); fate {
			case samples.Ready:
				done(start, "%-11s  %-16s %s", obj.GetKind(), obj.GetName(), words)
			case samples.Failed:
				return wait.Final(fmt.Errorf("%s %s: %s", obj.GetKind(), obj.GetName(), words))
			default:
				left, why = append(left, obj), append(why, fmt.Errorf("%s %s: %s", obj.GetKind(), obj.GetName(), words))
			}
		}
		pending = left
		return errors.Join(why...)
	})
}

func (d *demo) samplesDir() string { return filepath.Join(d.root, "config", "samples") }
