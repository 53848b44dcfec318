package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"time"

	"github.com/mainstay-operator/mainstay-operator/hack/internal/wait"
)

func containerdPart(l layout) part {
	program, err := exec.LookPath("containerd")
	if err != nil {
		program = "containerd" // ensurePackages has failed before
	}
	return part{
		name: "containerd",
		argv: []string{program, "--config=" + l.state("config", "containerd.toml")},
		healthy: func(ctx context.Context) error {
			_, err := ctr(ctx, "version")
			return err
		},
	}
}

func kubeletPart(l layout) part {
	return part{
		name: "kubelet",
		argv: []string{
			l.kubernetesBin("kubelet"),
			"--config=" + l.state("config", "kubelet.yaml"),
			"--kubeconfig=" + l.kubeconfig("node"),
			"--root-dir=" + l.state("kubelet"),
			"--cert-dir=" + l.state("kubelet", "pki"),
			"--hostname-override=" + nodeName,
			"--node-ip=" + nodeAddress,
		},
		healthy: answers(http.DefaultClient, "http://127.0.0.1:10248/healthz"),
	}
}

func proxyPart(l layout) part {
	return part{
		name:    "kube-proxy",
		argv:    []string{l.kubernetesBin("kube-proxy"), "--config=" + l.state("config", "kube-proxy.yaml")},
		healthy: answers(http.DefaultClient, "http://127.0.0.1:10256/healthz"),
	}
}

func dnsPart(l layout) part {
	return part{
		name:    "coredns",
		argv:    []string{l.bin("coredns"), "-conf=" + l.state("config", "Corefile")},
		healthy: answers(http.DefaultClient, "http://127.0.0.1:10053/ready"),
	}
}

// ctr talks to our containerd, in the namespace that kubelet uses.
func ctr(ctx context.Context, args ...string) (string, error) {
	return output(ctx, "ctr", append([]string{"--address", containerdSocket, "--namespace", "k8s.io"}, args...)...)
}

// nodeReady waits until pods can be placed on the node, and have an account.
func nodeReady(ctx context.Context, a *api) error {
	return wait.For(ctx, startLimit, 100*time.Millisecond, func(ctx context.Context) error {
		var node struct {
			Spec   struct{ Taints []struct{ Key string } }
			Status struct {
				Conditions []struct{ Type, Status, Message string }
			}
		}
		if err := a.call(ctx, http.MethodGet, "/api/v1/nodes/"+nodeName, nil, &node); err != nil {
			return err
		}
		for _, c := range node.Status.Conditions {
			if c.Type == "Ready" && c.Status != "True" {
				return fmt.Errorf("node %s is not ready: %s", nodeName, c.Message)
			}
		}
		if len(node.Spec.Taints) > 0 || len(node.Status.Conditions) == 0 {
			return fmt.Errorf("node %s is not open for pods yet: %v", nodeName, node.Spec.Taints)
		}
		err := a.call(ctx, http.MethodGet, "/api/v1/namespaces/default/serviceaccounts/default", nil, nil)
		if isStatus(err, http.StatusNotFound) {
			return errors.New("the default service account does not exist yet")
		}
		return err
	})
}
