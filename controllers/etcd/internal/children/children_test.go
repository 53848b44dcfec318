package children

import (
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

func inputsOf(e *databasev1alpha1.EtcdCluster) Inputs {
	return Inputs{Cluster: e, Spec: config.Resolve(e, &appsv1.StatefulSet{}, nil)}
}

// A defragmentation of all that the quota allows is not cut short.
func TestHowLongAServerMayFailItsProbe(t *testing.T) {
	for quota, want := range map[string]int32{"16Mi": 6, "2Gi": 18, "8Gi": 57} {
		bytes := resource.MustParse(quota)
		if got := livenessFailures(bytes.Value()); got != want {
			t.Errorf("%s: %d times", quota, got)
		}
	}
}

// A drain takes what the budget leaves, and of two voters each is needed.
func TestTheBudgetSparesTwoVoters(t *testing.T) {
	voter, learner := databasev1alpha1.EtcdRecordedMember{Ran: true, Joined: true}, databasev1alpha1.EtcdRecordedMember{Joined: true}
	const noBudget = -1
	for _, row := range []struct {
		name    string
		size    int32
		members []databasev1alpha1.EtcdRecordedMember
		want    int
	}{
		{"three voters", 3, []databasev1alpha1.EtcdRecordedMember{voter, voter, {}}, 1},
		{"two voters", 3, []databasev1alpha1.EtcdRecordedMember{voter, voter}, 0},
		{"a learner is no voter", 3, []databasev1alpha1.EtcdRecordedMember{voter, voter, learner}, 0},
		{"no member is recorded yet", 3, nil, 0},
		{"three voters are left on the way to one", 1, []databasev1alpha1.EtcdRecordedMember{voter, voter, voter}, 1},
		{"two voters are left on the way to one", 1, []databasev1alpha1.EtcdRecordedMember{voter, voter}, 0},
		{"a single voter can be drained", 1, []databasev1alpha1.EtcdRecordedMember{voter}, noBudget},
		{"a single voter can be drained while a learner joins", 1, []databasev1alpha1.EtcdRecordedMember{voter, learner}, noBudget},
	} {
		t.Run(row.name, func(t *testing.T) {
			e := builders.EtcdCluster("a").Size(row.size).Build()
			e.Status.Membership = &databasev1alpha1.EtcdMembership{Members: row.members}
			got := noBudget
			for _, child := range Desired(inputsOf(e)) {
				if budget, is := child.(*policyv1ac.PodDisruptionBudgetApplyConfiguration); is {
					got = budget.Spec.MaxUnavailable.IntValue()
				}
			}
			if got != row.want {
				t.Errorf("%d may go, not %d (%d: no budget)", got, row.want, noBudget)
			}
		})
	}
}

// The operator reads from a member's metrics what it has when it waits for a majority. A rule without peers admits everybody.
func TestWhoReachesWhichPort(t *testing.T) {
	e := builders.EtcdCluster("a").With(func(s *databasev1alpha1.EtcdClusterSpec) { s.NetworkPolicy = &commonv1.NetworkPolicy{} }).Build()
	for _, c := range []struct {
		operator string
		metrics  *databasev1alpha1.EtcdMetrics
		want     string
	}{
		{"", nil, "[[2379] [2380]]"},
		{"mainstay-system", nil, "[[2379] [2380] [2381]]"},
		{"mainstay-system", &databasev1alpha1.EtcdMetrics{}, "[[2379 2381] [2380] [2381]]"},
	} {
		e.Spec.Metrics = c.metrics
		var got [][]int32
		in := inputsOf(e)
		in.OperatorNamespace = c.operator
		for _, rule := range networkPolicy(in).Spec.Ingress {
			var ports []int32
			for _, p := range rule.Ports {
				ports = append(ports, p.Port.IntVal)
			}
			got = append(got, ports)
			if len(rule.From) == 0 {
				t.Errorf("with an operator in %q, everybody reaches %v", c.operator, ports)
			}
			backups := slices.ContainsFunc(rule.From, func(p networkingv1ac.NetworkPolicyPeerApplyConfiguration) bool {
				return p.NamespaceSelector == nil && p.PodSelector != nil && p.PodSelector.MatchLabels["app.kubernetes.io/name"] == "etcdbackup"
			})
			if backups != slices.Contains(ports, 2379) {
				t.Errorf("with an operator in %q, backups reach %v: %t", c.operator, ports, backups)
			}
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("with an operator in %q: %v", c.operator, got)
		}
	}
}

// Of a StatefulSet that is scaled or deleted no claim goes, whatever is asked for.
func TestNoStatefulSetDeletesData(t *testing.T) {
	for _, retention := range []databasev1alpha1.EtcdRetention{databasev1alpha1.EtcdRetain, databasev1alpha1.EtcdDelete} {
		e := builders.EtcdCluster("a").Storage("1Gi").Build()
		e.Spec.Storage.Retention = retention
		got := statefulSet(inputsOf(e)).Spec.PersistentVolumeClaimRetentionPolicy
		const retain = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
		if *got.WhenDeleted != retain || *got.WhenScaled != retain {
			t.Errorf("%s: %+v", retention, got)
		}
	}
}
