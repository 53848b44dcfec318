// Package status sets the status of a Redis from what a pass read and saw. It is pure.
package status

import (
	"cmp"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/volumes"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// Inputs is what a status is made from.
type Inputs struct {
	topology.Situation
	// Next is what the pass did, or waits for.
	Next topology.Step
	// Set is the StatefulSet, empty if there is none, and Pods are its pods.
	Set  *appsv1.StatefulSet
	Pods []corev1.Pod
	// Refusal says why pods are refused; empty if they are not.
	Refusal string
	// RunningImage is the one that the pods have, DefaultImage the operator's own.
	RunningImage, DefaultImage string
	Certificates               config.Certificates
	Credentials                config.Credentials
}

// New is the status with what was observed. It leaves alone what act has saved.
func New(r *cachev1alpha1.Redis, s Inputs) cachev1alpha1.RedisStatus {
	set, pods := s.Set, s.Pods
	status := *r.Status.DeepCopy()
	status.Nodes = []cachev1alpha1.RedisNode{}
	status.Replicas = set.Status.Replicas
	status.Selector = parts.SelectorString(config.AppName, r.Name)
	status.Endpoint = fmt.Sprintf("%s:%d", s.ServiceHost(), wire.Port)
	status.ReadEndpoint = fmt.Sprintf("%s:%d", s.ReplicasHost(), wire.Port)
	status.Binding = &cachev1alpha1.RedisBinding{Name: s.BindingName()}
	master, serving := s.ServingMaster()
	status.ReadyReplicas = 0
	for _, m := range s.Nodes {
		status.Nodes = append(status.Nodes, cachev1alpha1.RedisNode{
			Name: m.Name, State: nodeState(m, master, serving), RunID: m.RunID, ReplID: m.ReplID, Version: m.Version})
		if serving && (m.Name == master.Name || m.InSync(master)) && isPodReady(pods, m.Name) {
			status.ReadyReplicas++
		}
	}
	setConditions(r, &status, s)
	return status
}

func setConditions(r *cachev1alpha1.Redis, status *cachev1alpha1.RedisStatus, s Inputs) {
	set, pods, next := s.Set, s.Pods, s.Next
	list, generation := &status.Conditions, r.Generation
	workload := conditions.Workload{
		Generation:         set.Generation,
		ObservedGeneration: set.Status.ObservedGeneration,
		Desired:            s.RunningSize(),
		MinReady:           1,
		Updated:            int32(s.Count(func(m topology.Node) bool { return !m.Outdated })), //nolint:gosec // at most 9
		Ready:              status.ReadyReplicas,
		Total:              set.Status.Replicas,
		Failure:            cmp.Or(conditions.FirstFailure(pods), s.Refusal),
		StartupWait:        conditions.FirstStartupWait(pods),
	}
	conditions.SetFromWorkload(list, generation, workload)
	conditions.SetDegraded(list, generation, s.problemsByUrgency(workload, *list)...)
	setAvailable(list, generation, s.Situation, next)
	setSettingsInSync(list, generation, s.Situation)
	conditions.Halt(list, generation, s.shrinking())
	setRestoring(list, generation, s.Situation, next)
	setHibernating(list, generation, s.Situation, set)
	volumes.SetResizing(list, generation, s.VolumeGrowth())
	setSplitBrain(list, generation, s.World, next)
	setFailoverPossible(list, generation, s.Situation)
	conditions.SetPaused(list, generation, r.Spec.Paused)
	setCertificatesInSync(list, generation, s.Situation, s.Certificates)
	conditions.SetUpdateAvailable(list, generation, s.RunningImage, r.Spec.Image, s.DefaultImage, conditions.BySettingImage)
	setCredentialsInSync(list, generation, s.Situation, s.Credentials)
}

// omitUntilFirstReply removes a condition that is not true yet while no server answers, as it would report
// none, and reports whether it did.
func omitUntilFirstReply(list *[]metav1.Condition, conditionType string, w topology.World) bool {
	if w.Count(topology.Node.Answers) > 0 || meta.IsStatusConditionTrue(*list, conditionType) {
		return false
	}
	meta.RemoveStatusCondition(list, conditionType)
	return true
}

// SetNoMaster sets the conditions between two masters.
func SetNoMaster(r *cachev1alpha1.Redis, why string) {
	for _, conditionType := range []string{commonv1.ConditionReady, commonv1.ConditionAvailable, commonv1.ConditionFailoverPossible} {
		conditions.Set(&r.Status.Conditions, r.Generation, conditionType, false, commonv1.ReasonNoMaster, why)
	}
}

func nodeState(m, master topology.Node, serving bool) cachev1alpha1.RedisNodeState {
	switch {
	case m.IsBusy():
		return cachev1alpha1.RedisBusy
	case m.Answer != wire.Reached:
		return cachev1alpha1.RedisUnreachable
	case m.Loading:
		return cachev1alpha1.RedisLoading
	case m.Master:
		return cachev1alpha1.RedisMaster
	case m.Fenced():
		return cachev1alpha1.RedisFenced
	case serving && m.InSync(master):
		return cachev1alpha1.RedisInSync
	}
	return cachev1alpha1.RedisSyncing
}

// isPodReady reports whether the pod of that name is ready, also while it is being deleted.
func isPodReady(pods []corev1.Pod, name string) bool {
	i := slices.IndexFunc(pods, func(p corev1.Pod) bool { return p.Name == name })
	return i >= 0 && slices.ContainsFunc(pods[i].Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
