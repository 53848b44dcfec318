package easyservice

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// revision of a Deployment is that of its newest ReplicaSet
// (k8s.io/kubernetes/pkg/controller/deployment/util: RevisionAnnotation).
const revision = "deployment.kubernetes.io/revision"

// restartedAt is what kubectl rollout restart writes.
const restartedAt = "kubectl.kubernetes.io/restartedAt"

// hash of a template, by which a rollout is known.
func hash(template *corev1ac.PodTemplateSpecApplyConfiguration) string {
	encoded, err := json.Marshal(template)
	if err != nil {
		panic(fmt.Sprintf("a template cannot be encoded: %v", err)) // it is made of strings and numbers
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:8])
}

// chosen is the template that the Deployment gets: the spec's, or that of the last
// completed rollout once the spec's has been rolled back and until another is asked for:
// that its configuration is missing asks for nothing.
func chosen(e *appv1.EasyService, asked *corev1ac.PodTemplateSpecApplyConfiguration, missing bool, sets []appsv1.ReplicaSet) *corev1ac.PodTemplateSpecApplyConfiguration {
	stable, last := find(sets, isNamed(e.Status.StableReplicaSet)), e.Status.LastRollout
	back := rolledBack(last, hash(asked)) || missing && last != nil && last.Result == appv1.RolloutRolledBack
	if stable == nil || !rollsBack(e) || !back {
		return asked
	}
	template := stable.Spec.Template.DeepCopy()
	delete(template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	delete(template.Annotations, restartedAt) // whoever restarts it next is not to be taken back
	return parts.As[corev1ac.PodTemplateSpecApplyConfiguration](template)
}

func rollsBack(e *appv1.EasyService) bool {
	return e.Spec.Strategy != nil && e.Spec.Strategy.OnFailure == appv1.Rollback
}

func rolledBack(last *appv1.Rollout, template string) bool {
	return last != nil && last.Template == template && last.Result == appv1.RolloutRolledBack
}

// rollout is what a pass asked of the Deployment, as hashes of templates.
type rollout struct {
	asked string // by the spec
	given string // to the Deployment
	sure  bool   // the Deployment holds it
}

// outcome is what was seen of it.
type outcome struct {
	stuck   bool   // beyond its deadline
	failing string // in the words of the kubelet or the server
	done    bool   // every pod is of the template, and available
	current string // ReplicaSet of the Deployment's template, if known
	stable  bool   // the ReplicaSet of the last completed rollout is there
}

// progress takes the record of the rollouts on. That the spec's template failed is
// written down before anything is done about it, and stays until the spec asks for
// another one.
func progress(e *appv1.EasyService, r rollout, o outcome, now metav1.Time) (last *appv1.Rollout, stable string) {
	last, stable = e.Status.LastRollout.DeepCopy(), e.Status.StableReplicaSet
	if !r.sure {
		return last, stable
	}
	running := appv1.Rollout{Template: r.asked, Generation: e.Generation, StartTime: now, Result: appv1.RolloutRunning}
	if again := r.given == r.asked && rolledBack(last, r.asked); last == nil || last.Template != r.asked || again {
		last = &running
	}
	switch {
	case r.given != r.asked: // the stable one's
	case o.done && last.Result == appv1.RolloutRunning:
		last.Result, last.FinishTime = appv1.RolloutCompleted, &now
	case o.stuck && last.Result == appv1.RolloutRunning && rollsBack(e) && o.stable && o.current != stable:
		last.Result, last.FinishTime = appv1.RolloutRolledBack, &now
		last.Message = fmt.Sprintf("image %q: %s", e.Spec.Image, cmp.Or(o.failing, "its pods were not available within progressDeadlineSeconds"))
	}
	if o.done && o.current != "" {
		stable = o.current
	}
	return last, stable
}

// confess that other pods run than the spec asks for.
func confess(list *[]metav1.Condition, generation int64, last *appv1.Rollout) {
	conditions.Fold(list, nil, generation, &conditions.Problem{
		Reason: commonv1.ReasonRolledBack, NeedsHuman: true,
		Message: "rolled back to the pods of the last completed rollout until the spec asks for others: " + last.Message,
	})
}

// completed is true when the template runs everywhere, in pods that were proven.
func completed(list []metav1.Condition, d *appsv1.Deployment) bool {
	return meta.IsStatusConditionTrue(list, commonv1.ConditionReady) && d.Status.Replicas > 0 && d.Status.AvailableReplicas == d.Status.Replicas
}

// current is the ReplicaSet of the Deployment's template.
func current(d *appsv1.Deployment, sets []appsv1.ReplicaSet) string {
	number := d.Annotations[revision]
	set := find(sets, func(s *appsv1.ReplicaSet) bool { return number != "" && s.Annotations[revision] == number })
	if set == nil || d.Status.ObservedGeneration < d.Generation {
		return ""
	}
	return set.Name
}

func isNamed(name string) func(*appsv1.ReplicaSet) bool {
	return func(s *appsv1.ReplicaSet) bool { return s.Name == name }
}

func find(sets []appsv1.ReplicaSet, fits func(*appsv1.ReplicaSet) bool) *appsv1.ReplicaSet {
	for i := range sets {
		if fits(&sets[i]) {
			return &sets[i]
		}
	}
	return nil
}

// image is what ready pods of the template run, in the node's words.
func image(template corev1.PodTemplateSpec, pods []corev1.Pod) string {
	for i := range pods {
		for _, s := range pods[i].Status.ContainerStatuses {
			fresh := conditions.PodReady(&pods[i]) && parts.RunningImage(pods[i].Spec.Containers, kind, "") == parts.RunningImage(template.Spec.Containers, kind, "")
			if s.Name == kind && fresh && s.ImageID != "" {
				return s.ImageID
			}
		}
	}
	return ""
}
