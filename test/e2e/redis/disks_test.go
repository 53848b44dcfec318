package redis

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/test/cluster"
)

// smallDisk is what a small disk holds, in bytes, whatever its volume says.
const smallDisk = 16 << 20

// newSmallDisks makes so many volumes of a class, which can be filled up.
func newSmallDisks(ctx context.Context, class string, count int) {
	GinkgoHelper()
	root, err := cluster.Root()
	Expect(err).NotTo(HaveOccurred())
	var nodes corev1.NodeList
	Expect(k8s.List(ctx, &nodes)).To(Succeed())
	for range count {
		// In the cluster's own folder: what is mounted there goes with the cluster.
		folder, err := os.MkdirTemp(filepath.Join(root, ".cluster", "volumes"), "small-")
		Expect(err).NotTo(HaveOccurred())
		Expect(exec.CommandContext(ctx, "mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%d", smallDisk), class, folder).Run()).To(Succeed())
		volume := smallVolume(class, folder, nodes.Items[0].Labels[corev1.LabelHostname])
		Expect(k8s.Create(ctx, volume)).To(Succeed())
		DeferCleanup(func(ctx context.Context) {
			Expect(client.IgnoreNotFound(k8s.Delete(ctx, volume))).To(Succeed())
			Expect(exec.CommandContext(ctx, "umount", "--lazy", folder).Run()).To(Succeed()) // its pods are on their way out
			Expect(os.Remove(folder)).To(Succeed())
		})
	}
}

func smallVolume(class, folder, node string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "small-"},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName:              class,
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("64Mi")},
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: folder}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{
					Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
			}}}},
		},
	}
}
