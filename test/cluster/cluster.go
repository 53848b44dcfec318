// Package cluster is what every suite on real pods starts with: an
// administrator's client, kubectl, the deployed operator.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/api"
)

// Where the operator is deployed.
const (
	OperatorNamespace  = "mainstay-operator-system"
	OperatorDeployment = "mainstay-operator-controller-manager"
	// OperatorUser is who its pods are to the API server.
	OperatorUser = "system:serviceaccount:" + OperatorNamespace + ":mainstay-operator-controller-manager"
	// OperatorProgram runs in its pods.
	OperatorProgram = "manager"

	operatorLease    = "mainstay-operator.io"
	operatorSelector = "control-plane=controller-manager"
)

// Local reports whether this is the cluster of hack/cluster, whose node is this machine.
func Local() bool { return os.Getenv("CLUSTER") != "existing" }

// APIServer is the process of hack/cluster's API server.
func APIServer() (pid int, err error) { return process("kube-apiserver") }

// ControllerManager is that of its kube-controller-manager.
func ControllerManager() (pid int, err error) { return process("kube-controller-manager") }

// Scheduler is that of its kube-scheduler.
func Scheduler() (pid int, err error) { return process("kube-scheduler") }

// Kubelet is that of its one node.
func Kubelet() (pid int, err error) { return process("kubelet") }

func process(name string) (pid int, err error) {
	root, err := Root()
	if err != nil {
		return 0, err
	}
	text, err := os.ReadFile(filepath.Join(root, ".cluster", "run", name+".pid"))
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(text), " ") // what distinguishes it from another of that number follows
	return strconv.Atoi(strings.TrimSpace(first))
}

// Connect gives an administrator's client without a cache, and what it is made
// of. KUBECONFIG must name a cluster that the operator is deployed on.
func Connect(ctx context.Context) (*rest.Config, client.Client, error) {
	config, c, err := Dial()
	if err != nil {
		return nil, nil, err
	}
	var manager appsv1.Deployment
	if err := c.Get(ctx, client.ObjectKey{Namespace: OperatorNamespace, Name: OperatorDeployment}, &manager); err != nil {
		return nil, nil, fmt.Errorf("the operator must be deployed, as by make deploy: %w", err)
	}
	return config, c, nil
}

// Dial is Connect to a cluster with or without the operator.
func Dial() (*rest.Config, client.Client, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), api.AddToScheme(scheme)); err != nil {
		return nil, nil, err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, nil, fmt.Errorf("KUBECONFIG must name a cluster, as made by make cluster-up: %w", err)
	}
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	c, err := client.New(config, client.Options{Scheme: scheme})
	return config, c, err
}

// Version returns the Kubernetes version of the cluster's API server, as 1.37.1.
func Version() (string, error) {
	config, _, err := Dial()
	if err != nil {
		return "", err
	}
	asker, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return "", err
	}
	info, err := asker.ServerVersion()
	if err != nil {
		return "", fmt.Errorf("asking the cluster for its version: %w", err)
	}
	version, err := utilversion.ParseGeneric(info.GitVersion) // without what others append, as v1.31.9+k3s1
	if err != nil {
		return "", fmt.Errorf("the cluster's version: %w", err)
	}
	return version.String(), nil
}

// Operators are the managers' pods, the leader and those in waiting.
func Operators(ctx context.Context, c client.Client) ([]corev1.Pod, error) {
	var pods corev1.PodList
	name, value, _ := strings.Cut(operatorSelector, "=")
	err := c.List(ctx, &pods, client.InNamespace(OperatorNamespace), client.MatchingLabels{name: value})
	return pods.Items, err
}

// Dismiss the operator: no manager is left in a while, until it is called back.
func Dismiss(ctx context.Context, c client.Client) (back func() error, err error) {
	manager := &appsv1.Deployment{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: OperatorNamespace, Name: OperatorDeployment}, manager); err != nil {
		return nil, err
	}
	replicas := manager.Spec.Replicas
	scale := func(ctx context.Context, n *int32) error {
		before := manager.DeepCopy()
		manager.Spec.Replicas = n
		return c.Patch(ctx, manager, client.MergeFrom(before))
	}
	return func() error { return scale(context.WithoutCancel(ctx), replicas) }, scale(ctx, ptr.To[int32](0))
}

// Leader is the name of the pod that holds the lease, or "".
func Leader(ctx context.Context, c client.Client) (string, error) {
	var lease coordinationv1.Lease
	if err := client.IgnoreNotFound(c.Get(ctx, client.ObjectKey{Namespace: OperatorNamespace, Name: operatorLease}, &lease)); err != nil {
		return "", err
	}
	pod, _, _ := strings.Cut(ptr.Deref(lease.Spec.HolderIdentity, ""), "_")
	return pod, nil
}

// LeaderPod is the UID of the manager's pod that leads.
func LeaderPod(ctx context.Context, c client.Client) (types.UID, error) {
	leader, err := Leader(ctx, c)
	if err != nil {
		return "", err
	}
	pods, err := Operators(ctx, c)
	for _, pod := range pods {
		if pod.Name == leader {
			return pod.UID, err
		}
	}
	return "", errors.Join(err, fmt.Errorf("the leader %q does not run", leader))
}

// Leads is nil when all managers are ready, none is on its way out, and one of them leads.
func Leads(ctx context.Context, c client.Client) error {
	var manager appsv1.Deployment
	if err := c.Get(ctx, client.ObjectKey{Namespace: OperatorNamespace, Name: OperatorDeployment}, &manager); err != nil {
		return err
	}
	want, s := ptr.Deref(manager.Spec.Replicas, 1), manager.Status
	if s.ObservedGeneration != manager.Generation || s.UpdatedReplicas != want || s.AvailableReplicas != want || s.Replicas != want {
		return fmt.Errorf("not all %d managers are available: %+v", want, s)
	}
	pods, err := Operators(ctx, c)
	if err != nil {
		return err
	}
	for _, pod := range pods { // the Deployment's status may be older
		if pod.DeletionTimestamp != nil {
			return fmt.Errorf("pod %s is on its way out", pod.Name)
		}
	}
	_, err = LeaderPod(ctx, c)
	return err
}
