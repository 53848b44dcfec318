package config

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

// bounded has no storage, and a limit of what its pods may have on their nodes' disks; "" for the default quota.
func bounded(limit, quota string) *databasev1alpha1.EtcdCluster {
	b := builders.EtcdCluster("a").With(func(s *databasev1alpha1.EtcdClusterSpec) {
		s.Resources.Limits = corev1.ResourceList{corev1.ResourceEphemeralStorage: resource.MustParse(limit)}
	})
	if quota != "" {
		b.Quota(quota)
	}
	return b.Build()
}

// A quota that lets the kubelet evict all members is refused by a message that names both fields, and values that fit.
func TestAQuotaWithoutRoomOnTheNodeIsRefused(t *testing.T) {
	stored := bounded("1Gi", "1Gi")
	stored.Spec.Storage = &databasev1alpha1.EtcdStorage{Size: resource.MustParse("4Gi")}
	for _, c := range []struct {
		name string
		e    *databasev1alpha1.EtcdCluster
		want string // "" if it is not refused
	}{
		{"without a limit", builders.EtcdCluster("a").Quota("8Gi").Build(), ""},
		{"the default quota fits", bounded("1Gi", ""), ""},
		{"just enough room", bounded("1Gi", "491524096"), ""},
		{"a byte too little", bounded("1Gi", "491524097"), "set resources.limits.ephemeral-storage to 1025Mi or more, or quota to 468Mi or less"},
		{"too little for any quota", bounded("500Mi", ""), "set resources.limits.ephemeral-storage to 572Mi or more"},
		{"nothing on the node's disk", bounded("0", ""), "set resources.limits.ephemeral-storage to 572Mi or more"},
		{"the data is on a volume", stored, ""},
		{"a limit that is beyond counting", bounded("1e9999999", "8Gi"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Resolve(c.e, &appsv1.StatefulSet{}, nil).QuotaError
			if (got == "") != (c.want == "") || !strings.HasSuffix(got, c.want) {
				t.Errorf("got %q", got)
			}
		})
	}
}

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
		{"half of what a limit of the node's disk leaves", bounded("1Gi", ""), "0", "245762048"},
		{"what a limit of the node's disk has room for", bounded("1Gi", "300Mi"), "0", "300Mi"},
		{"no more than a limit of the node's disk has room for", bounded("1Gi", "1Gi"), "0", "491524096"},
		{"of a limit without room for any, the least", bounded("500Mi", ""), "0", "16Mi"},
		{"of a large limit no more than etcd's own default", bounded("100Gi", ""), "0", "2Gi"},
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
