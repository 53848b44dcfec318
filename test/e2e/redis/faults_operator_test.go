package redis

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

// killWithLeader kills the operator's leader at another moment of the failover each time.
func killWithLeader(ctx context.Context, _ *subject, master corev1.Pod, n int) (func() error, error) {
	leader, err := cluster.LeaderPod(ctx, k8s)
	if err != nil {
		return nil, err
	}
	if err := fault.Kill(master.UID, program); err != nil {
		return nil, err
	}
	stay(ctx, time.Duration(n%8+1)*25*time.Millisecond)
	return nil, fault.Kill(leader, cluster.OperatorProgram)
}

// killWhileLeaderSuspended stops the operator's leader at another moment of the failover each
// time. It wakes long after another has taken over, must do no harm, and ends: until it has, there is
// no server to follow the one that leads now.
func killWhileLeaderSuspended(ctx context.Context, _ *subject, master corev1.Pod, n int) (func() error, error) {
	leader, err := cluster.LeaderPod(ctx, k8s)
	if err != nil {
		return nil, err
	}
	before, err := managers(ctx)
	if err != nil {
		return nil, err
	}
	if err := fault.Kill(master.UID, program); err != nil {
		return nil, err
	}
	stay(ctx, time.Duration(n%8)*25*time.Millisecond)
	wake, err := fault.Hang(leader, cluster.OperatorProgram)
	if err != nil {
		return nil, err
	}
	return func() error {
		if err := wake(); err != nil {
			return err
		}
		Eventually(managers).WithContext(ctx).Should(HaveKeyWithValue(leader, before[leader]+1))
		return nil
	}, nil
}

// managers of the operator, and how often each was started again.
func managers(ctx context.Context) (map[types.UID]int32, error) {
	pods, err := cluster.Operators(ctx, k8s)
	all := map[types.UID]int32{}
	for _, pod := range pods {
		for _, c := range pod.Status.ContainerStatuses {
			all[pod.UID] += c.RestartCount
		}
	}
	return all, err
}

// killWithoutAPIServer kills while nothing can be written down.
func killWithoutAPIServer(_ context.Context, _ *subject, master corev1.Pod, _ int) (func() error, error) {
	server, err := cluster.APIServer()
	if err != nil {
		return nil, err
	}
	undo, err := fault.HangProcess(server)
	if err != nil {
		return nil, err
	}
	return undo, fault.Kill(master.UID, program)
}

// killWithoutControllerManager kills while no one but the operator can write endpoints. Clients reach the next master all the same, by
// the Service's address and by its node port. The operator leaves what a user has set in the Service.
func killWithoutControllerManager(ctx context.Context, s *subject, master corev1.Pod, _ int) (func() error, error) {
	manager, err := cluster.ControllerManager()
	if err != nil {
		return nil, err
	}
	wake, err := fault.HangProcess(manager)
	if err != nil {
		return nil, err
	}
	DeferCleanup(wake)
	return func() error {
		for _, w := range []*fault.Writer{s.confirming, s.plain} {
			awaitMoreWrites(ctx, w)
		}
		var service corev1.Service
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(s.Redis), &service)).To(Succeed())
		Expect(service.Spec.ExternalTrafficPolicy).To(Equal(corev1.ServiceExternalTrafficPolicyLocal))
		return wake()
	}, fault.Kill(master.UID, program)
}

// killRefused kills while most of what the operator writes is refused.
func killRefused(ctx context.Context, s *subject, master corev1.Pod, _ int) (func() error, error) {
	undo, err := fault.RefuseWrites(ctx, k8s, master.Status.HostIP, cluster.OperatorUser, s.Namespace)
	if err != nil {
		return nil, err
	}
	stay(ctx, time.Second) // the API server learns of a webhook by a watch
	return undo, fault.Kill(master.UID, program)
}

// dismissOperator returns once no operator runs and applications write all the same.
func dismissOperator(ctx context.Context, s *subject) (back func() error, err error) {
	back, err = cluster.Dismiss(ctx, k8s)
	if err != nil {
		return nil, err
	}
	DeferCleanup(back)
	Eventually(cluster.Operators).WithContext(ctx).WithArguments(k8s).Should(BeEmpty())
	awaitMoreWrites(ctx, s.confirming)
	return back, nil
}

// killWithoutOperator kills every server while applications write and no operator runs.
// The one that comes then knows only what was written down before it.
func killWithoutOperator(ctx context.Context, s *subject, master corev1.Pod, n int) (func() error, error) {
	back, err := dismissOperator(ctx, s)
	if err != nil {
		return nil, err
	}
	_, err = killAll(ctx, s, master, n)
	return back, err
}

// replaceWithoutOperator deletes the master's pod while no operator runs. Kubernetes makes another, and the Service still selects it by
// its name: clients are led to the deleted pod, to the new one or to none, never to a replica. Each server refuses writes until an
// operator has looked at it (ADR 0009).
func replaceWithoutOperator(ctx context.Context, s *subject, master corev1.Pod, _ int) (func() error, error) {
	back, err := dismissOperator(ctx, s)
	if err != nil {
		return nil, err
	}
	before := len(s.endpoints.Seen())
	Expect(before).To(BeNumerically(">", 0))
	if err := k8s.Delete(ctx, &master, client.GracePeriodSeconds(0)); err != nil {
		return nil, err
	}
	var next corev1.Pod
	Eventually(func(g Gomega) {
		g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(&master), &next)).To(Succeed())
		g.Expect(next.UID).NotTo(Equal(master.UID))
		g.Expect(next.Status.PodIP).NotTo(BeEmpty())
		g.Expect(last(s.endpoints.Seen())).To(Equal(fmt.Sprint([]string{next.Status.PodIP})))
	}).WithContext(ctx).Should(Succeed())
	Expect(s.endpoints.Seen()[before-1:]).To(HaveEach(BeElementOf("[]", fmt.Sprint([]string{master.Status.PodIP}),
		fmt.Sprint([]string{next.Status.PodIP}))))
	return back, nil
}

// forgetFailover puts the cluster's etcd back to what it held before a failover. The
// servers and their clients have continued and know nothing of it, but for the master
// that is recorded again: it has not heard the latest writes.
func forgetFailover(ctx context.Context, s *subject, master corev1.Pod, _ int) (func() error, error) {
	before := filepath.Join(GinkgoT().TempDir(), "etcd.db")
	if err := cluster.Snapshot(ctx, before); err != nil {
		return nil, err
	}
	if err := fault.Kill(master.UID, program); err != nil {
		return nil, err
	}
	epoch := s.Status.Epoch
	Eventually(s.healed).WithContext(ctx).WithArguments(epoch, 0).Should(Succeed())
	serving := s.Status.Replication.Master
	heal, err := fault.Partition(ctx, master.UID, program, time.Minute, serving.Address)
	if err != nil {
		return nil, err
	}
	awaitMoreWrites(ctx, s.confirming)
	if err := errors.Join(cluster.Restore(ctx, before), s.follow()); err != nil {
		return nil, errors.Join(err, heal())
	}
	Eventually(s.recorded).WithContext(ctx).Should(BeNumerically(">", epoch))
	Expect(s.Status.Replication.Master).To(Equal(serving), "another master than the one that served")
	return heal, nil
}
