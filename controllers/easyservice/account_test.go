package easyservice

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
)

func TestNoPodActsAsTheManager(t *testing.T) {
	manager := types.NamespacedName{Namespace: "team", Name: "manager"}
	simple := types.NamespacedName{Namespace: "team", Name: "default"}
	projecting := func(projection corev1.VolumeProjection) []corev1.Volume {
		return []corev1.Volume{
			{Name: "data"},
			{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				Sources: []corev1.VolumeProjection{{ConfigMap: &corev1.ConfigMapProjection{}}, projection},
			}}},
		}
	}
	token := projecting(corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}})
	for reason, c := range map[string]struct {
		manager   types.NamespacedName
		namespace string
		account   string
		volumes   []corev1.Volume
		want      string // the field that is refused
	}{
		"another account":                     {manager, "team", "reader", nil, ""},
		"no account":                          {manager, "team", "", token, ""},
		"its account":                         {manager, "team", "manager", nil, "serviceAccountName: "},
		"its namesake in another namespace":   {manager, "shop", "manager", nil, ""},
		"a manager that is no pod":            {types.NamespacedName{}, "team", "manager", token, ""},
		"the default account, named":          {simple, "team", "default", nil, "serviceAccountName: "},
		"the default account without a token": {simple, "team", "", projecting(corev1.VolumeProjection{Secret: &corev1.SecretProjection{}}), ""},
		"the default account's token":         {simple, "team", "", token, "volumes[1].projected.sources[1]: "},
		"the default account's certificate": {simple, "team", "",
			projecting(corev1.VolumeProjection{PodCertificate: &corev1.PodCertificateProjection{}}), "volumes[1].projected.sources[1]: "},
		"a token of another, and default's": {simple, "team", "reader", token, ""},
	} {
		t.Run(reason, func(t *testing.T) {
			e := newEasyService("a", appv1.EasyServiceSpec{ServiceAccountName: c.account, Volumes: c.volumes})
			err := rejectManagerAccount(template(e, "").Spec, c.namespace, c.manager)
			switch {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want) || !strings.Contains(err.Error(), c.manager.Name)):
				t.Errorf("want %q to be named with the account, got %v", c.want, err)
			}
		})
	}
}

// A completed rollout could be older than the manager in this namespace, and name the manager's account.
func TestNoRollbackActsAsTheManager(t *testing.T) {
	e := newEasyService("a", appv1.EasyServiceSpec{ServiceAccountName: "reader", Strategy: &appv1.Strategy{OnFailure: appv1.Rollback}})
	asked := template(e, "")
	replicaSet := appsv1.ReplicaSet{}
	replicaSet.Name, replicaSet.Spec.Template.Spec.ServiceAccountName = "a-1", "manager"
	e.Status.StableReplicaSet = replicaSet.Name
	e.Status.LastRollout = &appv1.Rollout{Template: templateHash(asked), Result: appv1.RolloutRolledBack}
	given := templateToApply(e, asked, false, []appsv1.ReplicaSet{replicaSet})
	if err := rejectManagerAccount(given.Spec, "team", types.NamespacedName{Namespace: "team", Name: "manager"}); err == nil {
		t.Error("a rollback gives pods the manager's rights")
	}
}
