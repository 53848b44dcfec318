package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

// killTwice kills the master, and the next one before the first is back.
func killTwice(ctx context.Context, s *subject, master corev1.Pod, _ int) (func() error, error) {
	if err := fault.Kill(master.UID, program); err != nil {
		return nil, err
	}
	stay(ctx, 300*time.Millisecond)
	Eventually(s.recorded).WithContext(ctx).Should(BeNumerically(">", s.Status.Epoch))
	var next corev1.Pod
	if err := k8s.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.Status.Replication.Master.Name}, &next); err != nil {
		return nil, err
	}
	return nil, fault.Kill(next.UID, program)
}

// killAfterReplicaLoss kills a master that has lost a replica without a word, cut off and deleted
// by force, as soon as that one is counted out: its successor has not caught up yet.
func killAfterReplicaLoss(ctx context.Context, s *subject, master corev1.Pod, _ int) (func() error, error) {
	pods, err := s.pods(ctx)
	i := slices.IndexFunc(pods, func(p corev1.Pod) bool { return p.UID != master.UID })
	if err != nil || i < 0 {
		return nil, fmt.Errorf("no replica to cut off: %w", err)
	}
	heal, err := fault.Partition(ctx, pods[i].UID, program, time.Minute, master.Status.PodIP)
	if err != nil {
		return nil, err
	}
	if err := k8s.Delete(ctx, &pods[i], client.GracePeriodSeconds(0)); err != nil {
		return nil, errors.Join(err, heal())
	}
	// Until then it may have confirmed what the other replica lacks: a human would be asked.
	Eventually(s.counted).WithContext(ctx).WithArguments(pods[i].UID).Should(BeFalse())
	return nil, errors.Join(heal(), fault.Kill(master.UID, program))
}

// counted is true while a pod's process may have confirmed writes.
func (s *subject) counted(ctx context.Context, pod types.UID) (bool, error) {
	err := k8s.Get(ctx, client.ObjectKeyFromObject(s.Redis), s.Redis)
	return slices.ContainsFunc(s.Status.Replication.SyncSet, func(p cachev1alpha1.RedisProcess) bool { return p.PodUID == pod }), err
}
