package status

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

func TestPodsOfASleeper(t *testing.T) {
	s := fixture.WithVolumes(fixture.Healthy(3))
	s.Spec.Hibernate = true
	if got := s.Situation().DesiredPods(); got != 3 {
		t.Errorf("%d pods while there is a master", got)
	}
	s.Status.Replication = nil
	if got := s.Situation().DesiredPods(); got != 0 {
		t.Errorf("%d pods while it sleeps", got)
	}
	s.Spec.Hibernate = false
	if got := s.Situation().DesiredPods(); got != 3 {
		t.Errorf("%d pods once it wakes", got)
	}
}

func TestConditionsOfASleeper(t *testing.T) {
	s := fixture.WithVolumes(fixture.Healthy(3))
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
	set.Status.Replicas, s.Nodes = 0, nil
	stand(commonv1.ConditionReady, metav1.ConditionTrue, commonv1.ReasonHibernated)
	stand(commonv1.ConditionAvailable, metav1.ConditionFalse, commonv1.ReasonHibernated)
	stand(commonv1.ConditionProgressing, metav1.ConditionFalse, commonv1.ReasonHibernated)
	stand(commonv1.ConditionDegraded, metav1.ConditionFalse, commonv1.ReasonAsExpected)
}

func hibernationStatus(s *fixture.Scene, set *appsv1.StatefulSet) cachev1alpha1.RedisStatus {
	return New(s.Redis, Inputs{Situation: s.Situation(), Next: topology.Step{Do: topology.Idle}, Set: set})
}
