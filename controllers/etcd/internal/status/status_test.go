package status

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

func TestConditions(t *testing.T) {
	checkConditions(t, []row{
		{"at rest", func(*seen) {}, map[string]string{
			ready: "True Replicas 3 of 3", available: "True Quorum 3 of 3", progressing: "False RolledOut", degraded: "False AsExpected"}},
		{"a member is silent", func(s *seen) {
			s.silence(2)
			s.next = membership.Step{Do: membership.Wait, Message: "waiting for a-2"}
		}, map[string]string{
			ready: "False Replicas 2 of 3 replicas ready; waiting for a-2", available: "True Quorum 2 of 3",
			progressing: "True Replicas 2 of 3 replicas ready; waiting for a-2"}},
		{"the Service does not lead to a member yet", func(s *seen) { s.w.Members[2].Pod.Ready = false }, map[string]string{
			ready: "False Replicas 2 of 3", available: "True Quorum 3 of 3"}},
		{"a majority is silent", func(s *seen) { s.silence(1, 2) }, map[string]string{available: "False NoQuorum"}},
		{"no member lists the members", func(s *seen) {
			for i := range s.w.Members {
				s.w.Members[i].Listed = nil
			}
		}, map[string]string{available: "False NoQuorum"}},
		{"the spec cannot be carried out", func(s *seen) { s.block(commonv1.ReasonInvalidSpec) }, map[string]string{
			ready: "False InvalidSpec do this", progressing: "False InvalidSpec do this", degraded: "True InvalidSpec do this",
			available: "True"}},
		{"no way to the version", func(s *seen) { s.block(commonv1.ReasonUpgradeBlocked) }, map[string]string{
			ready: "False UpgradeBlocked", progressing: "False UpgradeBlocked", degraded: "True UpgradeBlocked"}},
		{"a human must decide", func(s *seen) { s.block(commonv1.ReasonUnknownMember) }, map[string]string{
			ready: "False UnknownMember", progressing: "False UnknownMember", degraded: "True UnknownMember do this"}},
		{"what keeps a pod from starting may be the cause", func(s *seen) {
			s.block(commonv1.ReasonNoQuorum)
			s.silence(1, 2)
			s.pods = []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "a-1"}, Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "no node"}}}}}
		}, map[string]string{degraded: "True NoQuorum do this; pod a-1: cannot be scheduled: no node"}},
		{"a pause that holds a step back", func(s *seen) {
			s.e.Spec.Paused = true
			s.next = membership.Step{Do: membership.SetVersion, Version: "3.7.3", Image: "etcd:7"}
		}, map[string]string{
			ready:                    "False SpecPaused spec.paused holds back: making pods with version 3.7.3 (etcd:7)",
			progressing:              "False SpecPaused",
			commonv1.ConditionPaused: "True SpecPaused"}},
		{"a pause that holds nothing back", func(s *seen) { s.e.Spec.Paused = true }, map[string]string{
			ready: "True Replicas", commonv1.ConditionPaused: "True SpecPaused"}},
		{"a pause does not make a member answer", func(s *seen) {
			s.e.Spec.Paused = true
			s.silence(2)
			s.next = membership.Step{Do: membership.Wait, Message: "waiting for a-2"}
		}, map[string]string{ready: "False Replicas"}},
	})
}

func TestMembersInTheStatus(t *testing.T) {
	s := newSeen()
	s.silence(2)
	s.w.Members[1].View.Alarms = []string{membership.AlarmNoSpace, membership.AlarmCorrupt, membership.AlarmNoSpace}
	got := New(s.inputs())
	leader, silent := got.Members[0], got.Members[2]
	if got.Leader != "a-0" || leader.Role != databasev1alpha1.EtcdLeader || silent.Role != "" || silent.Healthy {
		t.Errorf("got %+v", got.Members)
	}
	if alarms := got.Members[1].Alarms; !slices.Equal(alarms, []string{membership.AlarmCorrupt, membership.AlarmNoSpace}) {
		t.Errorf("a set in the status has each alarm once, in order: %v", alarms)
	}
	if got.Endpoint != "a.ns.svc:2379" {
		t.Errorf("the endpoint is host:port, as other kinds have it: %s", got.Endpoint)
	}
	if got.Version != "" || got.ClusterVersion != "" {
		t.Errorf("the version of one member is not known: %q, %q", got.Version, got.ClusterVersion)
	}
}
