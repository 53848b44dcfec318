package memcached

import (
	"os"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"
)

// The operator renews certificates over a connection to the node, on whatever port it has.
func TestTheManagersOwnPolicyLetsItReachTheNodes(t *testing.T) {
	manifest, err := os.ReadFile("../../config/network-policy/manager.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var policy networkingv1.NetworkPolicy
	if err := yaml.Unmarshal(manifest, &policy); err != nil {
		t.Fatal(err)
	}
	for _, rule := range policy.Spec.Egress {
		for _, to := range rule.To {
			if to.PodSelector != nil && to.PodSelector.MatchLabels["app.kubernetes.io/name"] == appName && len(rule.Ports) == 0 {
				return
			}
		}
	}
	t.Error("no rule for them")
}
