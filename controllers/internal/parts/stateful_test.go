package parts

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

func TestRestartedAtIsKeptWithTheUsersAnnotations(t *testing.T) {
	options := commonv1.PodOptions{PodAnnotations: map[string]string{"team": "a"}}
	for restartedAt, want := range map[string]string{
		"":     `{"team":"a"}`,
		"then": `{"kubectl.kubernetes.io/restartedAt":"then","team":"a"}`,
	} {
		encoded, err := json.Marshal(WithRestartedAt(PodTemplate("redis", "r", options), restartedAt).Annotations)
		if err != nil || string(encoded) != want {
			t.Errorf("restarted at %q: %s, %v", restartedAt, encoded, err)
		}
	}
}

func TestClaimTemplate(t *testing.T) {
	const start = `{"metadata":{"name":"data","namespace":"","labels":{"app.kubernetes.io/instance":"r",` +
		`"app.kubernetes.io/managed-by":"mainstay-operator","app.kubernetes.io/name":"redis"}},` +
		`"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}`
	for _, c := range []struct {
		name  string
		class *string
		want  string
	}{
		{"the cluster's default class", nil, start + `}}`},
		{"a class", ptr.To("fast"), start + `,"storageClassName":"fast"}}`},
		{"no class at all", ptr.To(""), start + `,"storageClassName":""}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			encoded, err := json.Marshal(ClaimTemplate("redis", "r", "data", resource.MustParse("1Gi"), c.class))
			if err != nil || string(encoded) != c.want {
				t.Errorf("%s, %v", encoded, err)
			}
		})
	}
}
