package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

// faultRow is one way in which a Redis is harmed.
type faultRow struct {
	name       string
	runs, long int   // how often, and how often in a long report; 0 unless it is asked for by name
	size       int32 // of the Redis; 3 at least
	storage    bool
	small      bool // disks that can be filled up
	own        bool // Redis, which no other row has harmed before or harms after
	everywhere bool // what it breaks is every Redis': no other row runs meanwhile
	alone      bool // with its own Redis: those of other rows are removed first
	moves      bool // another master is due
	planned    bool // nothing at all may be lost, not even what was never confirmed
	// lasts until it is undone, and in a long report; zero where nothing is to undo.
	lasts, lastsLong time.Duration
	// prepare the Redis for this run.
	prepare func(ctx context.Context, s *subject) error
	// nodePort is true if plain writes come through the Service's node port.
	nodePort bool
	// without are rights that the operator lacks during all runs.
	without *rights
	// among is what others do during all runs; nil if they do nothing.
	among amongFunc
	// objects that others have in the end, at least.
	objects int
	// amid starts what others do during a single fault; nil if they do nothing.
	amid   amidFunc
	inject injectFunc
}

// injectFunc harms the Redis and gives the way to end it, if there is one. n counts
// the runs.
type injectFunc func(ctx context.Context, s *subject, master corev1.Pod, n int) (undo func() error, err error)

// amidFunc starts what others do during a fault, and gives the way to end it once the fault is injected. n counts the runs.
type amidFunc func(ctx context.Context, s *subject, n int) (end func() error, err error)

// usualKill and attackedKill come first: the one shows how much longer the other takes.
var (
	usualKill    = faultRow{name: "master killed (kill -9)", runs: 5, long: 100, moves: true, inject: kill}
	attackedKill = faultRow{name: "master killed (kill -9) next to a tenant that attacks the operator", runs: 5, long: 20, moves: true,
		inject: kill}
)

// faultRows are all other faults, in the order of the report.
var faultRows = []faultRow{
	{name: "master killed (kill -9) next to ten hostile servers", everywhere: true, runs: 0, long: 20, moves: true, prepare: addHostileServers,
		inject: kill},
	{name: "master killed (kill -9) while other endpoints change every 300 ms", everywhere: true, runs: 0, long: 20, moves: true,
		amid: amidChurn, inject: kill},
	{name: "master killed, kube-controller-manager hangs", everywhere: true, runs: 1, long: 10, own: true, nodePort: true, moves: true,
		lasts: 4 * time.Second, inject: killWithoutControllerManager},
	{name: "master killed (kill -9), the operator may not write endpoints", everywhere: true, runs: 0, long: 100, moves: true,
		without: endpointWrites, inject: kill},
	{name: "master's pod deleted by force", runs: 2, long: 20, moves: true, inject: remove(client.GracePeriodSeconds(0))},
	{name: "master's pod deleted", runs: 2, long: 20, moves: true, planned: true, inject: remove()},
	{name: "master's disk emptied", runs: 1, long: 10, storage: true, moves: true, inject: empty},
	{name: "master's append-only file cut short", runs: 0, long: 10, storage: true, moves: true, inject: cutShort},
	{name: "master's disk full", runs: 1, long: 10, storage: true, small: true, own: true, moves: true, planned: true, lasts: 5 * time.Second,
		inject: fill},
	{name: "all servers killed at once", runs: 1, long: 10, storage: true, moves: true, inject: killAll},
	{name: "all servers killed while the operator is away", everywhere: true, runs: 1, long: 5, storage: true, moves: true,
		inject: killWithoutOperator},
	{name: "master's pod deleted by force while the operator is away", everywhere: true, runs: 0, long: 10, moves: true,
		inject: replaceWithoutOperator},
	{name: "two masters killed 300 ms apart", runs: 0, long: 10, moves: true, inject: killTwice},
	{name: "replica cut off and deleted by force, then the master killed", runs: 1, long: 10, moves: true, inject: killAfterReplicaLoss},
	{name: "master killed, then the operator's leader", everywhere: true, runs: 1, long: 30, moves: true, inject: killWithLeader},
	{name: "master killed, the operator's leader hangs", everywhere: true, runs: 1, long: 5, moves: true, lasts: 15 * time.Second,
		lastsLong: 25 * time.Second, inject: killWhileLeaderSuspended},
	{name: "master killed, the API server hangs", everywhere: true, runs: 1, long: 10, moves: true, lasts: 4 * time.Second,
		inject: killWithoutAPIServer},
	{name: "master killed, the API server refuses most writes", everywhere: true, runs: 0, long: 10, moves: true, lasts: 5 * time.Second,
		inject: killRefused},
	{name: "etcd put back to before a failover", everywhere: true, runs: 1, long: 5, own: true, alone: true, moves: true,
		inject: forgetFailover},
	{name: "master hangs", runs: 1, long: 10, moves: true, lasts: 20 * time.Second, lastsLong: 40 * time.Second, inject: hang},
	{name: "master cut off from all", runs: 1, long: 10, moves: true, lasts: 20 * time.Second, lastsLong: 30 * time.Second, inject: cut(none)},
	{name: "master cut off from the operator", runs: 0, long: 5, lasts: 10 * time.Second, inject: cut(operators)},
	{name: "master cut off from its replicas", runs: 1, long: 5, moves: true, lasts: 10 * time.Second, lastsLong: time.Minute,
		inject: cut(replicas)},
	{name: "master cut off from the clients", runs: 0, long: 5, lasts: 3 * time.Second, inject: cut(kubernetesNode)},
	{name: "every core busy", everywhere: true, runs: 0, long: 1, lasts: 15 * time.Second, lastsLong: 10 * time.Minute, inject: starve},
	{name: "switchover by annotation", runs: 2, long: 20, moves: true, planned: true, inject: switchOver},
	{name: "scaled from 5 to 2, the master at ordinal 4", runs: 1, long: 5, moves: true, planned: true, own: true, size: 5, prepare: widen,
		inject: shrink},
	{name: "rolling restart", runs: 1, long: 5, moves: true, planned: true, inject: restart},
	// These come last, since the garbage collector is busy for a while after each.
	killAmong("master killed (kill -9) while others make %s Memcacheds", 3_000, amongNewMemcacheds),
	killAmong("master killed (kill -9) while %s Deployments of others roll", 1_000, amongRollouts),
	killAmong("master killed (kill -9) among %s Memcacheds", 10_000, amongMemcacheds),
}

func kill(_ context.Context, _ *subject, master corev1.Pod, _ int) (func() error, error) {
	return nil, fault.Kill(master.UID, program)
}

func killAll(ctx context.Context, s *subject, _ corev1.Pod, _ int) (func() error, error) {
	pods, err := s.pods(ctx)
	for _, pod := range pods {
		err = errors.Join(err, fault.Kill(pod.UID, program))
	}
	return nil, err
}

func starve(ctx context.Context, _ *subject, _ corev1.Pod, _ int) (func() error, error) {
	return fault.Starve(ctx, 15*time.Minute)
}

func hang(_ context.Context, _ *subject, master corev1.Pod, _ int) (func() error, error) {
	return fault.Hang(master.UID, program)
}

func remove(options ...client.DeleteOption) injectFunc {
	return func(ctx context.Context, _ *subject, master corev1.Pod, _ int) (func() error, error) {
		return nil, k8s.Delete(ctx, &master, options...)
	}
}

func empty(_ context.Context, _ *subject, master corev1.Pod, _ int) (func() error, error) {
	return nil, fault.WipeDisk(master.UID, program, "/data")
}

// fill the master's disk up.
func fill(_ context.Context, _ *subject, master corev1.Pod, _ int) (func() error, error) {
	return fault.FillDisk(master.UID, program, "/data", smallDisk)
}

// cutShort takes some twenty writes from the file.
func cutShort(_ context.Context, _ *subject, master corev1.Pod, _ int) (func() error, error) {
	return nil, fault.TruncateFile(master.UID, program, "/data/appendonlydir/*.incr.aof", 1000)
}

// cut the master off from those that whom names; from everybody when it names none.
func cut(whom func(context.Context, *subject, corev1.Pod) ([]string, error)) injectFunc {
	return func(ctx context.Context, s *subject, master corev1.Pod, _ int) (func() error, error) {
		peers, err := whom(ctx, s, master)
		if err != nil {
			return nil, err
		}
		return fault.Partition(ctx, master.UID, program, time.Minute, peers...)
	}
}

func none(context.Context, *subject, corev1.Pod) ([]string, error) { return nil, nil }

func operators(ctx context.Context, _ *subject, _ corev1.Pod) ([]string, error) {
	pods, err := cluster.Operators(ctx, k8s)
	return addresses(pods), err
}

func replicas(ctx context.Context, s *subject, master corev1.Pod) ([]string, error) {
	return s.others(ctx, master)
}

// kubernetesNode is where the clients of this report are.
func kubernetesNode(_ context.Context, _ *subject, master corev1.Pod) ([]string, error) {
	return []string{master.Status.HostIP}, nil
}

// restart all pods as kubectl rollout restart does.
func restart(ctx context.Context, s *subject, _ corev1.Pod, _ int) (func() error, error) {
	var statefulSet appsv1.StatefulSet
	if err := k8s.Get(ctx, client.ObjectKeyFromObject(s.Redis), &statefulSet); err != nil {
		return nil, err
	}
	before := statefulSet.DeepCopy()
	statefulSet.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] = time.Now().Format(time.RFC3339)
	return nil, k8s.Patch(ctx, &statefulSet, client.MergeFrom(before))
}

// switchOver to another pod, as a human asks for it.
func switchOver(ctx context.Context, s *subject, master corev1.Pod, _ int) (func() error, error) {
	pods, err := s.pods(ctx)
	i := slices.IndexFunc(pods, func(p corev1.Pod) bool { return p.UID != master.UID })
	if err != nil || i < 0 {
		return nil, fmt.Errorf("no replica to hand over to: %w", err)
	}
	return nil, s.edit(ctx, func(r *cachev1alpha1.Redis) { requestSwitchover(r, pods[i].Name) })
}

// widen the Redis to five nodes and make the last of them master.
func widen(ctx context.Context, s *subject) error {
	const last = 4
	five := func(r *cachev1alpha1.Redis) { r.Spec.Size = ptr.To[int32](last + 1) }
	if err := s.edit(ctx, five); err != nil {
		return err
	}
	s.waitUntilHealed(ctx)
	name := fmt.Sprintf("%s-%d", s.Name, last)
	if s.Status.Master == name {
		return nil
	}
	epoch := s.Status.Epoch
	if err := s.edit(ctx, func(r *cachev1alpha1.Redis) { requestSwitchover(r, name) }); err != nil {
		return err
	}
	Eventually(s.healed).WithContext(ctx).WithArguments(epoch, 0).Should(Succeed())
	Expect(s.Status.Master).To(Equal(name))
	return nil
}

// shrink it to two.
func shrink(ctx context.Context, s *subject, _ corev1.Pod, _ int) (func() error, error) {
	return nil, s.edit(ctx, func(r *cachev1alpha1.Redis) { r.Spec.Size = ptr.To[int32](2) })
}

func requestSwitchover(r *cachev1alpha1.Redis, master string) {
	if r.Annotations == nil {
		r.Annotations = map[string]string{}
	}
	r.Annotations[cachev1alpha1.RedisSwitchover] = master
}

// stay for a while, in which a fault lasts.
func stay(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
