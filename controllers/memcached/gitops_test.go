package memcached

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/gitopstest"
)

func TestWhatGitOpsToolsSeeOfAMemcached(t *testing.T) {
	invalid := &conditions.Problem{Reason: commonv1.ReasonInvalidSpec, Message: "tls.secretName: no such Secret"}
	for _, c := range []struct {
		name   string
		ready  int32 // of two nodes
		failed *conditions.Problem
		paused bool
		held   []string // what the pause holds back
		want   gitopstest.Verdict
	}{
		{"it rolls out", 1, nil, false, nil, gitopstest.InProgress},
		{"it is ready", 2, nil, false, nil, gitopstest.Current},
		{"its spec cannot be applied", 2, invalid, false, nil, gitopstest.Failed},
		{"a pause holds nothing back", 2, nil, true, nil, gitopstest.Current},
		{"a pause holds an edit back", 2, nil, true, []string{"StatefulSet/a"}, gitopstest.InProgress},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMemcached(func(s *cachev1alpha1.MemcachedSpec) { s.Size, s.Paused = ptr.To[int32](2), c.paused })
			set := &appsv1.StatefulSet{
				ObjectMeta: metav1.ObjectMeta{Generation: 1}, Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](2)},
				Status: appsv1.StatefulSetStatus{ObservedGeneration: 1, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: c.ready},
			}
			m.Status = status(m, world{set: set, proxy: &appsv1.Deployment{}})
			conditions.SetPausedChanges(m.GetConditions(), m.Generation, c.held)
			conditions.SetFailedPass(m.GetConditions(), nil, m.Generation, c.failed)
			gitopstest.Check(t, m, c.want)
		})
	}
}
