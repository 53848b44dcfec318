package easyservice

import (
	"reflect"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

func TestAdvanceRollout(t *testing.T) {
	start, now := metav1.NewTime(time.Unix(1, 0)), metav1.NewTime(time.Unix(9, 0))
	last := func(template string, result appv1.RolloutResult) *appv1.Rollout {
		return &appv1.Rollout{Template: template, StartTime: start, Result: result, Message: "as it was"}
	}
	sure := func(asked, given string) rolloutRequest {
		return rolloutRequest{specHash: asked, appliedHash: given, deploymentApplied: true}
	}
	stuckOn2 := rolloutOutcome{stuck: true, currentReplicaSet: "set-2", stableExists: true, failing: "no such image"}
	for _, c := range []struct {
		reason string
		keep   bool
		last   *appv1.Rollout
		rolloutRequest
		rolloutOutcome
		template string
		result   appv1.RolloutResult
		stable   string
	}{
		{reason: "the first starts", rolloutRequest: sure("1", "1"), template: "1", result: appv1.RolloutRunning, stable: "set-1"},
		{reason: "it is completed", last: last("1", appv1.RolloutRunning), rolloutRequest: sure("1", "1"),
			rolloutOutcome: rolloutOutcome{done: true, currentReplicaSet: "set-9"},
			template:       "1", result: appv1.RolloutCompleted, stable: "set-9"},
		{reason: "completed, by a set that the cache does not show yet", last: last("1", appv1.RolloutRunning), rolloutRequest: sure("1", "1"),
			rolloutOutcome: rolloutOutcome{done: true},
			template:       "1", result: appv1.RolloutCompleted, stable: "set-1"},
		{reason: "another starts", last: last("1", appv1.RolloutCompleted), rolloutRequest: sure("2", "2"), template: "2",
			result: appv1.RolloutRunning, stable: "set-1"},
		{reason: "it is stuck", last: last("2", appv1.RolloutRunning), rolloutRequest: sure("2", "2"), rolloutOutcome: stuckOn2,
			template: "2", result: appv1.RolloutRolledBack, stable: "set-1"},
		{reason: "stuck, and to be kept so", keep: true, last: last("2", appv1.RolloutRunning), rolloutRequest: sure("2", "2"),
			rolloutOutcome: stuckOn2,
			template:       "2", result: appv1.RolloutRunning, stable: "set-1"},
		{reason: "stuck, and nothing to return to", last: last("2", appv1.RolloutRunning), rolloutRequest: sure("2", "2"),
			rolloutOutcome: rolloutOutcome{stuck: true, currentReplicaSet: "set-2"},
			template:       "2", result: appv1.RolloutRunning, stable: "set-1"},
		{reason: "the stable one itself is stuck: a node is gone", last: last("1", appv1.RolloutRunning), rolloutRequest: sure("1", "1"),
			rolloutOutcome: rolloutOutcome{stuck: true, currentReplicaSet: "set-1", stableExists: true},
			template:       "1", result: appv1.RolloutRunning, stable: "set-1"},
		{reason: "stuck, but the Deployment may hold another", last: last("1", appv1.RolloutCompleted),
			rolloutRequest: rolloutRequest{specHash: "2", appliedHash: "2"}, rolloutOutcome: stuckOn2,
			template: "1", result: appv1.RolloutCompleted, stable: "set-1"},
		{reason: "rolled back, the stable one runs again", last: last("2", appv1.RolloutRolledBack), rolloutRequest: sure("2", "1"),
			rolloutOutcome: rolloutOutcome{done: true, currentReplicaSet: "set-1", stableExists: true},
			template:       "2", result: appv1.RolloutRolledBack, stable: "set-1"},
		{reason: "rolled back, and the spec says to keep it: it is tried again", keep: true, last: last("2", appv1.RolloutRolledBack),
			rolloutRequest: sure("2", "2"),
			template:       "2", result: appv1.RolloutRunning, stable: "set-1"},
		{reason: "rolled back, and the spec asks for a third", last: last("2", appv1.RolloutRolledBack), rolloutRequest: sure("3", "3"),
			rolloutOutcome: rolloutOutcome{currentReplicaSet: "set-1", stableExists: true},
			template:       "3", result: appv1.RolloutRunning, stable: "set-1"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			e := newEasyService("a", appv1.EasyServiceSpec{Image: "app:2", Strategy: &appv1.Strategy{OnFailure: appv1.Rollback}})
			if c.keep {
				e.Spec.Strategy.OnFailure = appv1.Keep
			}
			e.Status.LastRollout, e.Status.StableReplicaSet = c.last, "set-1"
			got, stable := advanceRollout(e, c.rolloutRequest, c.rolloutOutcome, now)
			if got.Template != c.template || got.Result != c.result || stable != c.stable {
				t.Errorf("%+v, stable %q", got, stable)
			}
			if ended := c.last != nil && c.last.Result != got.Result && got.Result != appv1.RolloutRunning; ended != got.FinishTime.Equal(&now) {
				t.Errorf("it ended at %v", got.FinishTime)
			}
			if c.result == appv1.RolloutRolledBack && c.appliedHash == c.specHash {
				return // the next pass gives another
			}
			e.Status.LastRollout, e.Status.StableReplicaSet = got, stable
			if repeated, same := advanceRollout(e, c.rolloutRequest, c.rolloutOutcome,
				metav1.NewTime(time.Unix(10, 0))); !reflect.DeepEqual(repeated, got) || same != stable {
				t.Errorf("a second look makes %+v of %+v", repeated, got)
			}
		})
	}
}

// The Deployment controller leaves its verdict on the release before standing until the next makes progress: the next
// gets its own time, and is rolled back only after that.
func TestAnOldVerdictRollsNothingBack(t *testing.T) {
	e := newEasyService("a", appv1.EasyServiceSpec{Image: "app:0", Size: ptr.To[int32](4),
		Strategy: &appv1.Strategy{OnFailure: appv1.Rollback, ProgressDeadlineSeconds: ptr.To[int32](60)}})
	e.Status.StableReplicaSet = "a-1"
	e.Status.LastRollout = &appv1.Rollout{Template: "2", StartTime: secondsLater(-90), Result: appv1.RolloutRunning}
	replicaSet := func(name, number string) appsv1.ReplicaSet {
		return appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{annotationRevision: number}}}
	}
	gaveUp := func(at metav1.Time) *appsv1.Deployment {
		d := deployed(3, withCondition(appsv1.DeploymentProgressing, corev1.ConditionFalse, reasonDeadlineExceeded, ""))
		d.Status.Conditions[0].LastUpdateTime = at
		d.Annotations = map[string]string{annotationRevision: "3"}
		return d
	}
	w := world{replicaSets: []appsv1.ReplicaSet{replicaSet("a-1", "1"), replicaSet("a-2", "2"), replicaSet("a-0", "3")}}
	asks := rolloutRequest{specHash: "0", appliedHash: "0", deploymentApplied: true}
	for _, c := range []struct {
		reason  string
		verdict int
		now     int
		want    appv1.RolloutResult
		due     time.Duration
	}{
		{"the pass that starts it", -30, 0, appv1.RolloutRunning, 30 * time.Second},
		{"the next", -30, 1, appv1.RolloutRunning, 59 * time.Second},
		{"the last of its time", -30, 59, appv1.RolloutRunning, time.Second},
		{"a verdict on itself", 45, 46, appv1.RolloutRolledBack, 0},
		{"its time is over", -30, 60, appv1.RolloutRolledBack, 0},
	} {
		d := gaveUp(secondsLater(c.verdict))
		w.now = secondsLater(c.now)
		if c.now > 0 {
			e.Status.LastRollout = &appv1.Rollout{Template: "0", StartTime: testTime, Result: appv1.RolloutRunning}
		}
		if c.now > 0 && untilDeadline(e, d, w) != c.due {
			t.Errorf("%s: due in %s", c.reason, untilDeadline(e, d, w))
		}
		if got := status(e, converge.Observed{"Deployment/a": d}, w, asks).LastRollout; got.Template != "0" || got.Result != c.want {
			t.Errorf("%s: %+v", c.reason, got)
		}
	}
}

func TestARollbackSaysWhy(t *testing.T) {
	for failing, want := range map[string]string{
		"no such image": `image "app:2": no such image`,
		"":              `image "app:2": its pods were not available within progressDeadlineSeconds`,
	} {
		e := newEasyService("a", appv1.EasyServiceSpec{Image: "app:2", Strategy: &appv1.Strategy{OnFailure: appv1.Rollback}})
		e.Status.StableReplicaSet = "set-1"
		last, _ := advanceRollout(e, rolloutRequest{specHash: "2", appliedHash: "2", deploymentApplied: true},
			rolloutOutcome{stuck: true, currentReplicaSet: "set-2", stableExists: true, failing: failing}, metav1.Time{})
		if last.Message != want {
			t.Errorf("%q, not %q", last.Message, want)
		}
	}
}

// A rollback applies exactly the template that ran before, so that the Deployment uses its ReplicaSet again.
func TestTemplateToApply(t *testing.T) {
	e := newEasyService("a", appv1.EasyServiceSpec{Image: "app:1", Ports: []appv1.Port{{Name: "http", Port: 80}},
		Strategy: &appv1.Strategy{OnFailure: appv1.Rollback}})
	first := template(e, "")
	encoded, err := yaml.Marshal(first)
	if err != nil {
		t.Fatal(err)
	}
	replicaSet := appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "a-1"}}
	if err := yaml.Unmarshal(encoded, &replicaSet.Spec.Template); err != nil {
		t.Fatal(err)
	}
	replicaSet.Spec.Template.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = "1"
	replicaSet.Spec.Template.Annotations = map[string]string{parts.AnnotationRestartedAt: "once"} // and the next restart stays, too
	replicaSets := []appsv1.ReplicaSet{{ObjectMeta: metav1.ObjectMeta{Name: "a-0"}}, replicaSet}

	e.Spec.Image, e.Status.StableReplicaSet = "app:2", "a-1"
	asked := template(e, "")
	e.Status.LastRollout = &appv1.Rollout{Template: templateHash(asked), Result: appv1.RolloutRolledBack}
	if got := templateToApply(e, asked, false, replicaSets); templateHash(got) != templateHash(first) {
		t.Error("it is not what ran before")
	}
	if replicaSet.Spec.Template.Labels[appsv1.DefaultDeploymentUniqueLabelKey] == "" {
		t.Error("the cache's own object was changed")
	}
	if got := templateToApply(e, asked, false, replicaSets[:1]); got != asked {
		t.Error("without the ReplicaSet there is nothing to return to")
	}
	e.Spec.Image = "app:3"
	if third := template(e, ""); templateToApply(e, third, false, replicaSets) != third {
		t.Error("a new wish is not tried")
	}
	if got := templateToApply(e, template(e, "other"), true, replicaSets); templateHash(got) != templateHash(first) {
		t.Error("missing configuration has tried again what failed")
	}
	e.Spec.Image, e.Spec.Strategy.OnFailure = "app:2", appv1.Keep
	if templateToApply(e, asked, false, replicaSets) != asked {
		t.Error("the spec says to keep it")
	}
}

func TestCurrentReplicaSet(t *testing.T) {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{annotationRevision: "2"}}}
	replicaSets := []appsv1.ReplicaSet{
		{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: map[string]string{annotationRevision: "1"}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "b", Annotations: map[string]string{annotationRevision: "2"}}},
	}
	if got := currentReplicaSet(d, replicaSets); got != "b" {
		t.Error(got)
	}
	d.Generation = 1
	if got := currentReplicaSet(d, replicaSets); got != "" {
		t.Errorf("%s, before its controller has looked", got)
	}
	if got := currentReplicaSet(&appsv1.Deployment{}, []appsv1.ReplicaSet{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}); got != "" {
		t.Error(got)
	}
}

func TestImageIsThatOfReadyPodsOfTheTemplate(t *testing.T) {
	pod := func(image, id string, ready corev1.ConditionStatus) corev1.Pod {
		return corev1.Pod{
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: appName, Image: image}}},
			Status: corev1.PodStatus{
				Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}},
				ContainerStatuses: []corev1.ContainerStatus{{Name: "sidecar", ImageID: "other"}, {Name: appName, ImageID: id}},
			},
		}
	}
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: appName, Image: "app:2"}}}}
	pods := []corev1.Pod{pod("app:1", "app@sha256:1", corev1.ConditionTrue), pod("app:2", "app@sha256:0", corev1.ConditionFalse)}
	if got := runningImageID(template, pods); got != "" {
		t.Error(got)
	}
	if got := runningImageID(template, append(pods, pod("app:2", "app@sha256:2", corev1.ConditionTrue))); got != "app@sha256:2" {
		t.Error(got)
	}
}
