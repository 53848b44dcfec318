package children

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
)

// restoring is a Redis whose nodes only chosen clients may reach, and that starts from a backup on a volume.
func restoring() *cachev1alpha1.Redis {
	r := fixture.Sized(3)
	r.Spec.NetworkPolicy = &commonv1.NetworkPolicy{}
	r.Spec.Bootstrap = &cachev1alpha1.RedisBootstrap{Backup: commonv1.BackupReference{
		Name: "nightly", Store: commonv1.BackupStore{Volume: &commonv1.VolumeStore{ClaimName: "kept"}}}}
	return r
}

// policiesOn are the policies that select a pod with these labels.
func policiesOn(in Inputs, labels map[string]string) (found []*networkingv1ac.NetworkPolicyApplyConfiguration) {
	for _, child := range Desired(in) {
		policy, ok := child.(*networkingv1ac.NetworkPolicyApplyConfiguration)
		if !ok {
			continue
		}
		matches := true
		for key, value := range policy.Spec.PodSelector.MatchLabels {
			matches = matches && labels[key] == value
		}
		if matches {
			found = append(found, policy)
		}
	}
	return found
}

// The pod that serves a backup has all data: only the nodes, one of which loads it, and the operator reach it.
func TestANetworkPolicyCoversThePodThatServesABackup(t *testing.T) {
	r := restoring()
	in := Inputs{Redis: r, Spec: config.Resolve(r), Image: "redis:8", OperatorNamespace: "operators"}
	policies := policiesOn(in, RestorePod(in, "operator:1", "8.0.2").Labels)
	if len(policies) != 1 {
		t.Fatalf("%d policies cover it", len(policies))
	}
	if *policies[0].Name == r.Name+"-restore" {
		t.Errorf("a Redis of the name %s has a policy of that name, too", *policies[0].Name)
	}
	rules := policies[0].Spec.Ingress
	if len(rules) != 1 || len(rules[0].Ports) != 1 || rules[0].Ports[0].Port.IntVal != 6379 || len(rules[0].From) != 2 {
		t.Fatalf("%+v", rules)
	}
	if nodes := rules[0].From[0]; nodes.NamespaceSelector != nil ||
		nodes.PodSelector.MatchLabels["app.kubernetes.io/name"] != config.AppName ||
		nodes.PodSelector.MatchLabels["app.kubernetes.io/instance"] != r.Name {
		t.Errorf("it admits %+v, not the nodes", nodes)
	}
	if operator := rules[0].From[1]; operator.NamespaceSelector == nil {
		t.Errorf("it admits %+v, not the operator", operator)
	}
}

// A restore writes nothing into the store: a fault of its program, or of the one that it serves, cannot destroy backups.
func TestARestoreMountsTheStoreReadOnly(t *testing.T) {
	r := restoring()
	pod := RestorePod(Inputs{Redis: r, Spec: config.Resolve(r), Image: "redis:8"}, "operator:1", "8.0.2")
	mounts := pod.Spec.InitContainers[0].VolumeMounts
	at := slices.IndexFunc(mounts, func(m corev1.VolumeMount) bool { return m.Name == "store" })
	if at < 0 || !mounts[at].ReadOnly {
		t.Errorf("%+v", mounts)
	}
}
