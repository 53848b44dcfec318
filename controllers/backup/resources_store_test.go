package backup

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
)

// The containers that read a backup back, and start a server from it, cannot destroy backups.
func TestOnlyWhatWritesToTheStoreMayWrite(t *testing.T) {
	b := running("", func(b *databasev1alpha1.EtcdBackup) {
		b.Spec.Store = commonv1.BackupStore{Volume: &commonv1.VolumeStore{ClaimName: "kept"}}
	})
	pod := desiredPod(b, Etcd(), testSource)
	var got []string
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, m := range c.VolumeMounts {
			switch {
			case m.Name == "store" && m.ReadOnly:
				got = append(got, c.Name+" reads")
			case m.Name == "store":
				got = append(got, c.Name+" writes")
			}
		}
	}
	if want := "backup writes, fetch reads, finish writes"; strings.Join(got, ", ") != want {
		t.Errorf("%s", strings.Join(got, ", "))
	}
	if at := slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == "store" }); at < 0 {
		t.Error("the pod has no store")
	}
}
