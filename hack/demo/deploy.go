package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	operatorNamespace  = "mainstay-operator-system"
	operatorDeployment = "mainstay-operator-controller-manager"
	operatorSelector   = "control-plane=controller-manager"

	// rolloutLimit is for managers whose image has to be pulled.
	rolloutLimit = 2 * time.Minute
)

// deploy applies config/default, as a user does, with the image of this demo.
func (d *demo) deploy(ctx context.Context) error {
	manifests, err := d.output(ctx, "", "kubectl", "kustomize", "config/default")
	if err != nil {
		return err
	}
	named, err := managerImage(manifests)
	if err != nil {
		return err
	}
	image := d.image
	if image == "" {
		image = named
	}
	if d.local {
		if image, err = d.loadImage(ctx, image); err != nil {
			return err
		}
	}
	start := time.Now()
	// Forced, since a user's kubectl edit of these objects is not what is shown here.
	if _, err := d.output(ctx, withImage(manifests, named, image), "kubectl", "apply", "--server-side", "--force-conflicts", "-f",
		"-"); err != nil {
		return err
	}
	done(start, "CRDs, rights and manager applied")
	return d.rollout(ctx)
}

// withImage puts another image in the place of the manager's, and passes it to the manager.
func withImage(manifests, named, image string) string {
	return strings.NewReplacer("image: "+named+"\n", "image: "+image+"\n", "value: "+named+"\n", "value: "+image+"\n").Replace(manifests)
}

// managerImage is the image of the one Deployment in a stream of objects.
func managerImage(manifests string) (string, error) {
	for document := range strings.SplitSeq(manifests, "\n---\n") {
		var manager appsv1.Deployment
		if err := yaml.Unmarshal([]byte(document), &manager); err == nil && manager.Kind == "Deployment" {
			return manager.Spec.Template.Spec.Containers[0].Image, nil
		}
	}
	return "", errors.New("config/default holds no Deployment")
}

// rollout waits until every manager runs what was applied.
func (d *demo) rollout(ctx context.Context) error {
	start := time.Now()
	c, _, err := d.connect()
	if err != nil {
		return err
	}
	var manager appsv1.Deployment
	err = poll(ctx, rolloutLimit, func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: operatorDeployment}, &manager); err != nil {
			return err
		}
		want, s := *manager.Spec.Replicas, manager.Status
		if s.ObservedGeneration < manager.Generation || s.UpdatedReplicas != want || s.AvailableReplicas != want || s.Replicas != want {
			return fmt.Errorf("%d of %d managers are available%s", min(s.UpdatedReplicas, s.AvailableReplicas), want, complaints(ctx, c))
		}
		return nil
	})
	if err == nil {
		done(start, "%d managers available", manager.Status.AvailableReplicas)
	}
	return err
}

// complaints are what keeps the managers' containers from running.
func complaints(ctx context.Context, c client.Client) string {
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(operatorNamespace)); err != nil {
		return ""
	}
	words := ""
	for _, pod := range pods.Items {
		for _, s := range pod.Status.ContainerStatuses {
			if w := s.State.Waiting; w != nil && w.Message != "" {
				words += fmt.Sprintf("; %s: %s: %s", pod.Name, w.Reason, w.Message)
			}
		}
	}
	return words
}
