package children

import (
	"cmp"
	"testing"

	corev1 "k8s.io/api/core/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/test/releases"
)

// keptInputs are those that the releases are kept with.
func keptInputs(r *cachev1alpha1.Redis) Inputs {
	c := Inputs{
		Redis: r,
		Spec:  config.Resolve(r), Credentials: fixture.Passwords, Settings: config.Settings{Live: config.Resolve(r).LiveDirectives(0)},
		Replicas: config.Resolve(r).Size,
		Image:    cmp.Or(r.Spec.Image, "redis:x"), // what runs is kept
	}
	if r.Spec.Storage != nil {
		c.VolumeSize = r.Spec.Storage.Size
	}
	return c
}

func TestNewDefaultsRollNothing(t *testing.T) {
	releases.Defaults(t, "Redis", func(r *cachev1alpha1.Redis) { r.Spec.PodLabels = map[string]string{"changed": "1"} },
		func(r *cachev1alpha1.Redis, live corev1.PodTemplateSpec, pods []corev1.Pod, noPods bool) bool {
			return ChooseDefaults(keptInputs(r), converge.Workload{Template: live, Pods: pods, NoPods: noPods}) == parts.CurrentDefaults
		})
}

func TestEachContainerHasResources(t *testing.T) {
	none := func(string) bool { return false } // how much data a server is to hold is the user's to say
	releases.Resources(t, "Redis", none, func(r *cachev1alpha1.Redis) corev1.PodSpec {
		c := keptInputs(r)
		c.Defaults = parts.CurrentDefaults
		return parts.ToApplyConfig[corev1.PodTemplateSpec](statefulSet(c).Spec.Template).Spec
	})
}
