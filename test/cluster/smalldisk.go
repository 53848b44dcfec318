package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// SmallDisk makes a volume of a class, of which there need be no object, on a disk of hack/cluster's node that holds so many bytes,
// whatever the volume says, and can be filled up. folder is where the node sees it.
func SmallDisk(
	ctx context.Context, c client.Client, class string, size int64,
) (folder string, remove func(context.Context) error, err error) {
	root, err := Root()
	if err != nil {
		return "", nil, err
	}
	var nodes corev1.NodeList
	if err := c.List(ctx, &nodes); err != nil {
		return "", nil, err
	}
	// In the cluster's own folder: what is mounted there goes with the cluster.
	if folder, err = os.MkdirTemp(filepath.Join(root, ".cluster", "volumes"), "small-"); err != nil {
		return "", nil, err
	}
	if _, err := run(ctx, "", "mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%d", size), class, folder); err != nil {
		return "", nil, errors.Join(err, os.Remove(folder))
	}
	volume := smallVolume(class, folder, nodes.Items[0].Labels[corev1.LabelHostname])
	unmount := func(ctx context.Context) error {
		_, err := run(context.WithoutCancel(ctx), "", "umount", "--lazy", folder) // its pods are on their way out
		return errors.Join(err, os.Remove(folder))
	}
	if err := c.Create(ctx, volume); err != nil {
		return "", nil, errors.Join(err, unmount(ctx))
	}
	remove = func(ctx context.Context) error {
		return errors.Join(client.IgnoreNotFound(c.Delete(ctx, volume)), unmount(ctx))
	}
	return folder, remove, nil
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
