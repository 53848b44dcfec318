package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// removalLimit is for pods that take their grace.
	removalLimit = 2 * time.Minute
	// finalizerPrefix is of what only the operator takes off again.
	finalizerPrefix = "mainstay-operator.io/"
)

// undeploy removes the objects while the operator can still release what it
// holds, then the operator.
func (d *demo) undeploy(ctx context.Context) error {
	start := time.Now()
	_, err := d.output(ctx, "", "kubectl", "delete", "mainstay", "--all", "--all-namespaces", "--timeout="+removalLimit.String())
	switch {
	case err != nil && strings.Contains(err.Error(), "doesn't have a resource type"): // nor then any object
	case err != nil:
		return err
	default:
		if err := d.released(ctx); err != nil {
			return err
		}
		if err := d.removeRestored(ctx, claims); err != nil { // of a run that failed
			return err
		}
		done(start, "objects of all kinds removed")
	}
	start = time.Now()
	if err := d.unsubscribe(ctx); err != nil {
		return err
	}
	if _, err := d.output(ctx, "", "kubectl", "delete", "-k", "config/default", "--ignore-not-found",
		"--timeout="+removalLimit.String()); err != nil {
		return err
	}
	done(start, "operator removed")
	return nil
}

// unsubscribe has OLM remove the operator, where OLM is.
func (d *demo) unsubscribe(ctx context.Context) error {
	_, err := d.output(ctx, "", "kubectl", "delete", "subscriptions.operators.coreos.com,clusterserviceversions.operators.coreos.com",
		"--all", "--namespace="+operatorNamespace, "--timeout="+removalLimit.String())
	if err != nil && strings.Contains(err.Error(), "doesn't have a resource type") {
		return nil
	}
	return err
}

// released waits until no pod is held by a finalizer of the operator's.
func (d *demo) released(ctx context.Context) error {
	c, _, err := d.connect()
	if err != nil {
		return err
	}
	return poll(ctx, removalLimit, func(ctx context.Context) error {
		var pods corev1.PodList
		if err := c.List(ctx, &pods); err != nil {
			return err
		}
		var held []error
		for _, pod := range pods.Items {
			if strings.Contains(strings.Join(pod.Finalizers, " "), finalizerPrefix) {
				held = append(held, fmt.Errorf("pod %s still bears a finalizer of the operator's", client.ObjectKeyFromObject(&pod)))
			}
		}
		return errors.Join(held...)
	})
}
