package children

import (
	"maps"
	"os"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
)

func TestANetworkPolicyLetsTheNodesAndTheOperatorIn(t *testing.T) {
	r := fixture.Sized(3)
	r.Spec.NetworkPolicy = &commonv1.NetworkPolicy{}
	from := networkPolicy(Inputs{Redis: r, OperatorNamespace: "operators"}).Spec.Ingress[0].From
	if len(from) != 4 {
		t.Fatalf("nodes, operator, backups and namespace: %d peers", len(from))
	}
	if backups := from[2]; backups.NamespaceSelector != nil || backups.PodSelector.MatchLabels["app.kubernetes.io/name"] != "redisbackup" {
		t.Errorf("those that make backups: %v", backups)
	}
	if nodes := from[0]; nodes.NamespaceSelector != nil || nodes.PodSelector.MatchLabels["app.kubernetes.io/instance"] != "a" {
		t.Errorf("the set's own: %v", nodes)
	}
	manifest, err := os.ReadFile("../../../../config/manager/manager.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(manifest), "\n---\n")
	var manager appsv1.Deployment
	if err := yaml.Unmarshal([]byte(text), &manager); err != nil {
		t.Fatal(err)
	}
	operator := from[1]
	if operator.PodSelector == nil || len(operator.PodSelector.MatchLabels) == 0 {
		t.Fatalf("the operator's: %v", operator)
	}
	if namespace := operator.NamespaceSelector; namespace == nil ||
		!maps.Equal(namespace.MatchLabels, map[string]string{"kubernetes.io/metadata.name": "operators"}) {
		t.Errorf("its labels are let in from %v, where anybody may bear them", namespace)
	}
	labels := manager.Spec.Template.Labels
	maps.DeleteFunc(labels, func(key, _ string) bool { _, asked := operator.PodSelector.MatchLabels[key]; return !asked })
	if !maps.Equal(labels, operator.PodSelector.MatchLabels) {
		t.Errorf("the operator bears %v, and %v is let in", labels, operator.PodSelector.MatchLabels)
	}
	if outside := networkPolicy(Inputs{Redis: r}).Spec.Ingress[0].From; len(outside) != 3 {
		t.Errorf("an operator that is no pod has a rule: %d peers, not nodes, backups and namespace", len(outside))
	}
}
