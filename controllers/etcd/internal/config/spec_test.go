package config

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

func TestQuota(t *testing.T) {
	for _, c := range []struct {
		name   string
		e      *databasev1alpha1.EtcdCluster
		volume string
		want   string
	}{
		{"without storage", builders.EtcdCluster("a").Build(), "0", "2Gi"},
		{"as asked for without storage", builders.EtcdCluster("a").Quota("8Gi").Build(), "0", "8Gi"},
		{"half of a small volume", builders.EtcdCluster("a").Storage("1Gi").Build(), "1Gi", "512Mi"},
		{"of the smallest one, what etcd can still run with", builders.EtcdCluster("a").Storage("64Mi").Build(), "64Mi", "32Mi"},
		{"of a large volume no more than etcd's own default", builders.EtcdCluster("a").Storage("100Gi").Build(), "100Gi", "2Gi"},
		{"of a volume that has not grown yet", builders.EtcdCluster("a").Storage("4Gi").Build(), "1Gi", "512Mi"},
		{"of a volume that cannot shrink", builders.EtcdCluster("a").Storage("64Mi").Build(), "1Gi", "512Mi"},
		{"as asked for", builders.EtcdCluster("a").Storage("100Gi").Quota("8Gi").Build(), "100Gi", "8Gi"},
		{"no more than a volume that has not grown yet", builders.EtcdCluster("a").Storage("100Gi").Quota("8Gi").Build(), "4Gi", "4Gi"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, want := quota(&c.e.Spec, resource.MustParse(c.volume)), resource.MustParse(c.want)
			if got != want.Value() {
				t.Errorf("got %d", got)
			}
		})
	}
}
