package etcd

import (
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
)

// nodeWord is what a node's condition Ready says of what its kubelet reports.
type nodeWord int

const (
	nodeSilent  nodeWord = iota // it is not Ready, or gone, so what it reported last may be old
	nodeReports                 // it is Ready: its kubelet reports
	nodeUnasked                 // the operator may not read nodes
)

// nodeMaxAge is how long the word of a node counts. A node is found not Ready after 40 s of silence, so this adds little.
const nodeMaxAge = 5 * time.Second

// nodeLimit bounds the question for a node.
const nodeLimit = 800 * time.Millisecond

// seenNode is what a node said, and when it was asked.
type seenNode struct {
	word nodeWord
	at   time.Time
}

// nodes are what nodes said when they were asked last, by their names.
type nodes map[string]seenNode

func (n *nodes) note(name string, seen seenNode) {
	maps.DeleteFunc(*n, func(_ string, old seenNode) bool { return seen.at.Sub(old.at) >= nodeMaxAge })
	if *n == nil {
		*n = nodes{}
	}
	(*n)[name] = seen
}

// provenNeverRan are the pods of which it is proven that no container of etcd was ever started. Nodes are read only for pods that have
// one and report no start.
func (o *object) provenNeverRan(ctx context.Context) map[types.UID]bool {
	proven := map[types.UID]bool{}
	for i := range o.in.pods {
		word := nodeSilent
		if reportsNoStart(&o.in.pods[i]) {
			word = o.askNode(ctx, o.in.pods[i].Spec.NodeName)
		}
		proven[o.in.pods[i].UID] = neverRan(&o.in.pods[i], word, o.in.pods)
	}
	return proven
}

// neverRan reports whether it is proven that a pod has never run: it is on no node, or its node is Ready and reports no start. Where
// nodes may not be read, what kubelets have reported counts if no pod of the cluster has run.
func neverRan(pod *corev1.Pod, node nodeWord, all []corev1.Pod) bool {
	switch {
	case pod.Spec.NodeName == "":
		return true
	case !reportsNoStart(pod):
		return false
	case node == nodeUnasked:
		return !slices.ContainsFunc(all, func(p corev1.Pod) bool { return slices.ContainsFunc(p.Status.ContainerStatuses, config.HasRun) })
	}
	return node == nodeReports
}

// reportsNoStart reports whether a kubelet has said of a pod that the container of etcd waits for its first start.
func reportsNoStart(pod *corev1.Pod) bool {
	return pod.Spec.NodeName != "" && slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.Name == config.AppName && c.State.Waiting != nil && c.LastTerminationState.Terminated == nil && !config.HasRun(c)
	})
}

// askNode asks the API server whether a node is Ready; no informer, which would hold all nodes in memory for a question that is rare.
func (o *object) askNode(ctx context.Context, name string) nodeWord {
	now := o.clock.Now()
	if seen, ok := o.known.nodes[name]; ok && now.Sub(seen.at) < nodeMaxAge {
		return seen.word
	}
	ctx, done := context.WithTimeout(ctx, nodeLimit)
	defer done()
	node := &corev1.Node{}
	err := o.APIReader.Get(ctx, types.NamespacedName{Name: name}, node)
	word := nodeSilent
	switch {
	case apierrors.IsForbidden(err):
		word = nodeUnasked
	case err != nil && !apierrors.IsNotFound(err):
		log.FromContext(ctx).Info("a node cannot be read", "node", name, "error", err.Error())
	case slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	}):
		word = nodeReports
	}
	o.known.nodes.note(name, seenNode{word, now})
	return word
}
