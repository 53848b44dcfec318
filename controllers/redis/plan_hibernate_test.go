package redis

import (
	"slices"
	"syscall"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

func TestGoingToSleep(t *testing.T) {
	fenced := func(s *scene) { frozen(&s.members[0], 100); s.members[0].Master = false }
	for _, c := range []struct {
		reason string
		given  func(*scene)
		do     verb
		nodes  []string
	}{
		{"first the writes end", func(*scene) {}, fence, []string{"a-0"}},
		{"then the last of them arrive", func(s *scene) { fenced(s); s.members[2].Offset = 99 }, wait, []string{"a-2"}},
		{"then nobody is master", fenced, endMastership, []string{"a-0"}},
		{"one that does not hear the master is not waited for", func(s *scene) {
			fenced(s)
			s.members[2].Offset, s.members[2].LinkUp = 99, false
		}, endMastership, []string{"a-0"}},
		{"one that does not answer neither", func(s *scene) { fenced(s); makeSilent(&s.members[2]) }, endMastership, []string{"a-0"}},
		{"never before the master's volume says so", func(s *scene) { fenced(s); setStamp(s, "a-0", 6, synced) }, stampVolumes, []string{"a-0"}},
		{"a lost master is replaced first", func(s *scene) { refused(&s.members[0]); linksDown(s) }, fence, []string{"a-1", "a-2"}},
		{"a pod that may not keep data as asked by now is replaced first", outdated(2), deletePod, []string{"a-2"}},
		{"so is a way to keep data that servers have not come to yet", func(s *scene) { s.members[2].AOF = false }, setPersistence, []string{"a-2"}},
		{"or that they would not start with", func(s *scene) { s.settings.Live[appendOnly] = "no" }, wait, nil},
		{"or were not told", func(s *scene) { s.members[1].settingsUnknown = true }, applySettings, []string{"a-1"}},
		{"a master without a pod hands over first", func(s *scene) { orphan(s) }, switchOver, []string{"a-1"}},
		{"a second master is fenced first", func(s *scene) { fenced(s); s.members[1].Master = true }, fence, []string{"a-1"}},
		{"who sleeps is left alone", func(s *scene) { s.Status.Replication = nil; silentAll(s) }, idle, nil},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := withVolumes(healthy(3))
			s.Spec.Hibernate = true
			c.given(s)
			if got := s.situation().plan(); got.do != c.do || !slices.Equal(got.nodes, c.nodes) {
				t.Errorf("got %s (%s), want %s %v", got, got.message, c.do, c.nodes)
			}
		})
	}
}

func TestPodsOfASleeper(t *testing.T) {
	s := withVolumes(healthy(3))
	s.Spec.Hibernate = true
	if got := s.situation().desiredPods(); got != 3 {
		t.Errorf("%d pods while there is a master", got)
	}
	s.Status.Replication = nil
	if got := s.situation().desiredPods(); got != 0 {
		t.Errorf("%d pods while it sleeps", got)
	}
	s.Spec.Storage.Retention = cachev1alpha1.RedisDelete
	if got := retentionPolicy(resolve(s.Redis)); *got.WhenScaled != appsv1.RetainPersistentVolumeClaimRetentionPolicyType ||
		*got.WhenDeleted != appsv1.DeletePersistentVolumeClaimRetentionPolicyType {
		t.Errorf("its volumes would go with its pods: %+v", got)
	}
	s.Spec.Hibernate = false
	if got := s.situation().desiredPods(); got != 3 {
		t.Errorf("%d pods once it wakes", got)
	}
}

func TestConditionsOfASleeper(t *testing.T) {
	s := withVolumes(healthy(3))
	s.Spec.Hibernate = true
	set := &appsv1.StatefulSet{}
	set.Generation, set.Status.ObservedGeneration, set.Status.Replicas = 2, 2, 3
	stand := func(kind string, status metav1.ConditionStatus, reason string) {
		t.Helper()
		got := hibernationStatus(s, set)
		if c := meta.FindStatusCondition(got.Conditions, kind); c == nil || c.Status != status || c.Reason != reason {
			t.Errorf("%+v", c)
		}
	}
	stand(commonv1.ConditionReady, metav1.ConditionFalse, commonv1.ReasonHibernating)
	s.Status.Replication = nil
	stand(commonv1.ConditionReady, metav1.ConditionFalse, commonv1.ReasonHibernating)
	set.Status.Replicas, s.members = 0, nil
	stand(commonv1.ConditionReady, metav1.ConditionTrue, commonv1.ReasonHibernated)
	stand(commonv1.ConditionAvailable, metav1.ConditionFalse, commonv1.ReasonHibernated)
	stand(commonv1.ConditionProgressing, metav1.ConditionFalse, commonv1.ReasonHibernated)
	stand(commonv1.ConditionDegraded, metav1.ConditionFalse, commonv1.ReasonAsExpected)
}

func hibernationStatus(s *scene, set *appsv1.StatefulSet) cachev1alpha1.RedisStatus {
	return newStatus(s.Redis, s.situation(), step{do: idle}, set, nil)
}

// With real servers: all data is there again, and the last master is master.
func TestASetWakesWithItsData(t *testing.T) {
	l := newLoopback(t, 3, func(r *cachev1alpha1.Redis) { r.Spec.Storage = &cachev1alpha1.RedisStorage{} })
	l.write(0, 50)
	last := l.master()
	l.redis.Spec.Hibernate = true
	l.until("it sleeps", func() bool { l.pass(); return l.redis.Spec.Hibernate && l.redis.Status.Replication == nil })
	for _, n := range l.nodes {
		l.signal(n, syscall.SIGTERM)
		_ = n.command.Wait()
	}
	l.heal() // who sleeps is at rest
	l.redis.Spec.Hibernate = false
	for _, n := range l.nodes {
		n.uid += types.UID("-again")
		if n != last {
			l.start(n)
		}
	}
	for range 20 {
		if l.pass() != wait {
			t.Fatal("the last master is not waited for")
		}
	}
	l.start(last)
	l.heal()
	if l.master() != last || l.redis.Status.LastFailover.Reason != commonv1.ReasonRecovering {
		t.Errorf("%+v", l.redis.Status.LastFailover)
	}
	l.expectKeys(50)
	l.write(50, 51)
}
