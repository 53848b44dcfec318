package redis

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
)

// marked are the pods of a scene, a-0 marked as the master and the others as in sync.
func marked(s *scene) []corev1.Pod {
	var list []corev1.Pod
	for _, m := range s.members {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: m.name, UID: m.podUID, Labels: map[string]string{labelRole: roleReplica}}}
		if m.name == "a-0" {
			pod.Labels[labelRole] = roleMaster
		}
		setGate(&pod, true)
		list = append(list, pod)
	}
	return list
}

// moved the clients from a-0 to a-1, so long ago.
func moved(s *scene, ago time.Duration) {
	s.Status.LastFailover, s.sinceRouted = &cachev1alpha1.RedisFailover{From: "a-0", To: "a-1"}, ago
}

func TestMarks(t *testing.T) {
	for _, c := range []struct {
		reason string
		given  func(*scene)
		want   []string
	}{
		{"nothing differs", func(*scene) {}, nil},
		{"who is no longer in sync", func(s *scene) { s.members[1].LinkUp = false }, []string{"a-1 replica false"}},
		{"not right after another became master", func(s *scene) { s.members[1].LinkUp = false; moved(s, oldClientTime-time.Millisecond) }, nil},
		{"nor when the same is master again", func(s *scene) {
			s.members[1].LinkUp = false
			moved(s, oldClientTime-time.Millisecond)
			s.Status.LastFailover.To = "a-0"
		}, nil},
		{"nor is the new master marked", func(s *scene) { masterIs(s, 2); moved(s, oldClientTime-time.Millisecond) }, nil},
		{"it is marked when the goodbyes are over", func(s *scene) { masterIs(s, 1); moved(s, oldClientTime) }, []string{"a-0 replica true", "a-1 master true"}},
		{"the first master is marked at once", func(s *scene) { masterIs(s, 1); moved(s, 0); s.Status.LastFailover.From = "" }, []string{"a-0 replica true", "a-1 master true"}},
		{"one that is master again is, too", func(s *scene) { masterIs(s, 1); moved(s, 0); s.Status.LastFailover.To = "a-0" }, []string{"a-0 replica true", "a-1 master true"}},
		{"without a master nothing is taken back", func(s *scene) { makeSilent(&s.members[0]); s.members[1].LinkUp = false }, nil},
		{"who does not answer is left as it is", func(s *scene) { makeSilent(&s.members[1]) }, nil},
		{"who goes as well", func(s *scene) { s.members[1].LinkUp, s.members[1].deleting = false, true }, nil},
		{"another master", func(s *scene) { masterIs(s, 2) }, []string{"a-0 replica true", "a-2 master true"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := healthy(3)
			pods := marked(s)
			c.given(s)
			var got []string
			for _, m := range outdatedMarks(s.situation(), pods) {
				got = append(got, fmt.Sprint(m.pod.Name, " ", m.role, " ", m.inSync))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// The pass that leads clients elsewhere marks no pod: kube-proxy would delay the route of the next failover.
func TestNothingIsMarkedInThePassThatRoutes(t *testing.T) {
	u := recordedSet(3, false)
	f, redis := u.direct()
	f.sinceRouted = time.Hour
	redis.Status.LastFailover = &cachev1alpha1.RedisFailover{From: "a-1", To: redis.Status.Master}
	r := &Reconciler{clock: modelClock}
	r.Events = silentEvents{}
	if err := r.reportMasterChange(quiet, redis, f); err != nil || redis.Status.LastFailover.RoutedAt == nil || f.situation(redis).marksDelay() == 0 {
		t.Errorf("%v: routed at %v, %s ago", err, redis.Status.LastFailover.RoutedAt, f.sinceRouted)
	}
}
