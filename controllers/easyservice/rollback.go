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
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

// annotationRevision holds, on a Deployment, the revision of its newest ReplicaSet
// (k8s.io/kubernetes/pkg/controller/deployment/util: RevisionAnnotation).
const annotationRevision = "deployment.kubernetes.io/revision"

// templateHash returns the hash of a template, which identifies its rollout.
func templateHash(template *corev1ac.PodTemplateSpecApplyConfiguration) string {
	encoded, err := json.Marshal(template)
	if err != nil {
		panic(fmt.Sprintf("a template cannot be encoded: %v", err)) // it is made of strings and numbers
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:8])
}

// chooseDefaults returns the defaults that the spec's template is to be made with. One that was rolled back keeps the former
// defaults: with others it would count as another template, and be tried again.
func chooseDefaults(e *appv1.EasyService, config string, w world) parts.Defaults {
	former := template(e, config)
	if isRolledBack(e.Status.LastRollout, templateHash(former)) {
		return parts.FormerDefaults
	}
	return converge.ChooseDefaults(converge.Workload{Template: w.running, Pods: w.pods, NoPods: w.noPods},
		func(d parts.Defaults) *corev1ac.PodTemplateSpecApplyConfiguration {
			return withDefaults(e, former, d)
		})
}

// templateToApply returns the Deployment's template: the spec's or, if that was rolled back, that of the last completed
// rollout until the spec asks for a third. Configuration that goes missing is no such request.
func templateToApply(e *appv1.EasyService, specTemplate *corev1ac.PodTemplateSpecApplyConfiguration, missing bool,
	replicaSets []appsv1.ReplicaSet) *corev1ac.PodTemplateSpecApplyConfiguration {
	stable, last := findReplicaSet(replicaSets, isNamed(e.Status.StableReplicaSet)), e.Status.LastRollout
	rolledBack := isRolledBack(last, templateHash(specTemplate)) || missing && last != nil && last.Result == appv1.RolloutRolledBack
	if stable == nil || !rollsBackOnFailure(e) || !rolledBack {
		return specTemplate
	}
	template := stable.Spec.Template.DeepCopy()
	delete(template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	delete(template.Annotations, parts.AnnotationRestartedAt) // the user's next restart is not to be rolled back
	return parts.ToApplyConfig[corev1ac.PodTemplateSpecApplyConfiguration](template)
}

// rollsBackOnFailure reports whether the spec asks for a rollback when a rollout fails.
func rollsBackOnFailure(e *appv1.EasyService) bool {
	return e.Spec.Strategy != nil && e.Spec.Strategy.OnFailure == appv1.Rollback
}

func isRolledBack(last *appv1.Rollout, template string) bool {
	return last != nil && last.Template == template && last.Result == appv1.RolloutRolledBack
}

// rolloutRequest is what a pass asked of the Deployment, as hashes of templates.
type rolloutRequest struct {
	specHash          string // of the template that the spec asks for
	appliedHash       string // of the template applied to the Deployment
	deploymentApplied bool   // this pass wrote the Deployment, or found it as desired
}

// rolloutOutcome is what was observed of the rollout.
type rolloutOutcome struct {
	stuck             bool   // beyond its deadline
	failing           string // why, in the words of the kubelet or the API server
	done              bool   // every pod is of the template, and available
	currentReplicaSet string // ReplicaSet of the Deployment's template, if known
	stableExists      bool   // the ReplicaSet of the last completed rollout is there
}

// advanceRollout returns the record of the latest rollout, and the stable ReplicaSet. One pass records that the spec's
// template failed, the next rolls back, and it stays recorded until the spec asks for another template.
func advanceRollout(e *appv1.EasyService, r rolloutRequest, o rolloutOutcome, now metav1.Time) (last *appv1.Rollout, stable string) {
	last, stable = e.Status.LastRollout.DeepCopy(), e.Status.StableReplicaSet
	if !r.deploymentApplied {
		return last, stable
	}
	running := appv1.Rollout{Template: r.specHash, Generation: e.Generation, StartTime: now, Result: appv1.RolloutRunning}
	if retried := r.appliedHash == r.specHash && isRolledBack(last, r.specHash); last == nil || last.Template != r.specHash || retried {
		last = &running
	}
	switch {
	case r.appliedHash != r.specHash: // the stable one's
	case o.done && last.Result == appv1.RolloutRunning:
		last.Result, last.FinishTime = appv1.RolloutCompleted, &now
	case o.stuck && last.Result == appv1.RolloutRunning && rollsBackOnFailure(e) && o.stableExists && o.currentReplicaSet != stable:
		last.Result, last.FinishTime = appv1.RolloutRolledBack, &now
		last.Message = fmt.Sprintf("image %q: %s", e.Spec.Image, cmp.Or(o.failing, "its pods were not available within progressDeadlineSeconds"))
	}
	if o.done && o.currentReplicaSet != "" {
		stable = o.currentReplicaSet
	}
	return last, stable
}

// rolledBack is the problem that other pods run than the spec asks for; nil if there is none.
func rolledBack(r rolloutRequest, last *appv1.Rollout) *conditions.Problem {
	if r.appliedHash == r.specHash {
		return nil
	}
	return &conditions.Problem{Reason: commonv1.ReasonRolledBack,
		Message: "rolled back to the pods of the last completed rollout until the spec asks for others: " + last.Message}
}

// isCompleted reports whether the template runs everywhere, in pods that are available.
func isCompleted(list []metav1.Condition, d *appsv1.Deployment) bool {
	return meta.IsStatusConditionTrue(list, commonv1.ConditionReady) && d.Status.Replicas > 0 &&
		d.Status.AvailableReplicas == d.Status.Replicas
}

// currentReplicaSet is the name of the ReplicaSet of the Deployment's template; empty while it is not known.
func currentReplicaSet(d *appsv1.Deployment, replicaSets []appsv1.ReplicaSet) string {
	number := d.Annotations[annotationRevision]
	replicaSet := findReplicaSet(replicaSets, func(s *appsv1.ReplicaSet) bool {
		return number != "" && s.Annotations[annotationRevision] == number
	})
	if replicaSet == nil || d.Status.ObservedGeneration < d.Generation {
		return ""
	}
	return replicaSet.Name
}

func isNamed(name string) func(*appsv1.ReplicaSet) bool {
	return func(s *appsv1.ReplicaSet) bool { return s.Name == name }
}

func findReplicaSet(replicaSets []appsv1.ReplicaSet, fits func(*appsv1.ReplicaSet) bool) *appsv1.ReplicaSet {
	for i := range replicaSets {
		if fits(&replicaSets[i]) {
			return &replicaSets[i]
		}
	}
	return nil
}

// runningImageID is the ID of the image that ready pods of the template run, as the kubelet reports it.
func runningImageID(template corev1.PodTemplateSpec, pods []corev1.Pod) string {
	for i := range pods {
		for _, s := range pods[i].Status.ContainerStatuses {
			fresh := conditions.IsPodReady(&pods[i]) && parts.RunningImage(pods[i].Spec.Containers, appName,
				"") == parts.RunningImage(template.Spec.Containers, appName, "")
			if s.Name == appName && fresh && s.ImageID != "" {
				return s.ImageID
			}
		}
	}
	return ""
}
