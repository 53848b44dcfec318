package converge

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appsv1 "k8s.io/api/apps/v1"
)

// quotaScene is a StatefulSet of two pods, and an API server that counts what it is asked.
type quotaScene struct {
	*Converger
	owner   *owner
	set     *appsv1.StatefulSet
	now     time.Time
	answer  error // to a question
	asked   int
	patched int
}

func newQuotaScene(t *testing.T) *quotaScene {
	t.Helper()
	o := &owner{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a", UID: "owner"}}
	s := &quotaScene{owner: o, set: setOf(o), now: time.Unix(1000, 0)}
	s.set.Spec.Replicas = ptr.To[int32](2)
	s.set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
	s.Converger = &Converger{Client: fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(s.set.DeepCopy()).
		WithInterceptorFuncs(interceptor.Funcs{
			Create: func(_ context.Context, _ client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
				s.asked++
				options := client.CreateOptions{}
				options.ApplyOptions(opts)
				pod := obj.(*corev1.Pod)
				if len(options.DryRun) != 1 || pod.Name != "a-1" || pod.Spec.Volumes[0].PersistentVolumeClaim.ClaimName != "data-a-1" {
					t.Errorf("it asks for %+v", pod)
				}
				return s.answer
			},
			Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
				s.patched++
				return nil
			},
		}).Build()}
	return s
}

// after lets so much time pass, and looks at a StatefulSet with these pods.
func (q *quotaScene) after(t *testing.T, d time.Duration, names ...string) (recheck time.Duration) {
	t.Helper()
	q.now = q.now.Add(d)
	var pods []corev1.Pod
	for _, name := range names {
		pods = append(pods, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	recheck, err := q.CheckPods(t.Context(), q.owner, q.set, pods, q.now)
	if err != nil {
		t.Fatal(err)
	}
	return recheck
}

func quotaExceeded() error {
	return apierrors.NewForbidden(corev1.Resource("pods"), "a-1", errors.New("exceeded quota: small"))
}

func TestAMissingPodIsExplained(t *testing.T) {
	s := newQuotaScene(t)
	s.answer = quotaExceeded()
	if got := s.after(t, 0, "a-0"); got != missingGrace || s.asked != 0 {
		t.Errorf("a pod that was just missed: asked %d times, next in %s", s.asked, got)
	}
	if got := s.after(t, missingGrace, "a-0"); got != missingGrace || s.asked != 1 {
		t.Errorf("after a while: asked %d times, next in %s", s.asked, got)
	}
	if why := s.PodRefusal(s.owner); !strings.Contains(why, "exceeded quota: small") {
		t.Errorf("it says %q", why)
	}
	s.after(t, time.Second, "a-0") // an event
	if s.asked != 1 {
		t.Errorf("each pass asks again: %d times", s.asked)
	}
	for range 10 {
		s.after(t, maxRefusalRecheck, "a-0")
	}
	if got := s.after(t, 0, "a-0"); got != maxRefusalRecheck || s.asked != 11 {
		t.Errorf("in the long run: asked %d times, next in %s", s.asked, got)
	}
}

func TestARefusalEnds(t *testing.T) {
	for _, c := range []struct {
		name    string
		answer  error
		pods    []string
		patched int
		ends    bool
	}{
		{"the quota is raised: it ends, and the controller is woken", nil, []string{"a-0"}, 1, true},
		{"the pod is there: it ends", quotaExceeded(), []string{"a-0", "a-1"}, 0, true},
		{"the pod is there, the cache is behind: it ends", apierrors.NewAlreadyExists(corev1.Resource("pods"), "a-1"), []string{"a-0"}, 1, true},
		{"the API server does not say: it stays", apierrors.NewTimeoutError("slow", 1), []string{"a-0"}, 0, false},
		{"a webhook admits no dry run: it stays", apierrors.NewBadRequest("does not support dry run"), []string{"a-0"}, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newQuotaScene(t)
			s.answer = quotaExceeded()
			s.after(t, 0, "a-0")
			s.after(t, missingGrace, "a-0")
			s.answer = c.answer
			recheck := s.after(t, missingGrace, c.pods...)
			if ended := s.PodRefusal(s.owner) == ""; ended != c.ends || s.patched != c.patched {
				t.Errorf("ended: %t; the controller was woken %d times", ended, s.patched)
			}
			if len(c.pods) == 2 && recheck != 0 {
				t.Errorf("at rest it looks again in %s", recheck)
			}
		})
	}
}

// The user corrects the spec: the answer about the former template says nothing any more.
func TestAnotherTemplateIsAskedAboutAtOnce(t *testing.T) {
	s := newQuotaScene(t)
	s.answer = quotaExceeded()
	s.after(t, 0, "a-0")
	s.after(t, missingGrace, "a-0")
	s.set.Generation++
	if s.after(t, 0, "a-0"); s.asked != 1 {
		t.Error("asked about a template that the controller has not seen")
	}
	s.set.Status.ObservedGeneration++
	if s.after(t, 0, "a-0"); s.asked != 2 {
		t.Errorf("asked %d times", s.asked)
	}
}
