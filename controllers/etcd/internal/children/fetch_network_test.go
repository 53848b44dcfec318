package children

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// The pod that serves a backup has all data: only the members, one of which loads it, reach it.
func TestANetworkPolicyCoversThePodThatServesABackup(t *testing.T) {
	e := fixture.FromBackup()
	e.Spec.NetworkPolicy = &commonv1.NetworkPolicy{}
	labels, covered := fetchPod(e).Labels, 0
	for _, child := range Desired(inputsOf(e)) {
		policy, ok := child.(*networkingv1ac.NetworkPolicyApplyConfiguration)
		if !ok || policy.Spec.PodSelector.MatchLabels["app.kubernetes.io/name"] != labels["app.kubernetes.io/name"] ||
			policy.Spec.PodSelector.MatchLabels["app.kubernetes.io/instance"] != labels["app.kubernetes.io/instance"] {
			continue
		}
		covered++
		if *policy.Name == e.Name+"-restore" {
			t.Errorf("an EtcdCluster of the name %s has a policy of that name, too", *policy.Name)
		}
		rules := policy.Spec.Ingress
		if len(rules) != 1 || len(rules[0].From) != 1 || len(rules[0].Ports) != 1 || rules[0].Ports[0].Port.IntVal != backup.ServePort {
			t.Fatalf("%+v", rules)
		}
		if from := rules[0].From[0]; from.NamespaceSelector != nil || from.PodSelector.MatchLabels["app.kubernetes.io/name"] != config.AppName {
			t.Errorf("it admits %+v, not the members", from)
		}
	}
	if covered != 1 {
		t.Errorf("%d policies cover it", covered)
	}
}

// A restore writes nothing into the store: a fault of its program cannot destroy backups.
func TestARestoreMountsTheStoreReadOnly(t *testing.T) {
	e := fixture.FromBackup()
	e.Spec.Bootstrap.Backup.Store = commonv1.BackupStore{Volume: &commonv1.VolumeStore{ClaimName: "kept"}}
	mounts := fetchPod(e).Spec.InitContainers[0].VolumeMounts
	at := slices.IndexFunc(mounts, func(m corev1.VolumeMount) bool { return m.Name == "store" })
	if at < 0 || !mounts[at].ReadOnly {
		t.Errorf("%+v", mounts)
	}
}
