package etcd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

// faultRow is one way in which an etcd is harmed.
type faultRow struct {
	name  string
	bare  bool // is done to the bare etcd, too
	alone bool // breaks what all clusters share
	lasts time.Duration
	// inject harms the etcd. It returns the way to end it, and what shows in healthy members that it is over; either may be nil.
	inject func(ctx context.Context, s *scene) (undo func() error, over func(map[string]member) bool, err error)
}

// scene is an etcd when a fault starts.
type scene struct {
	*target
	size    int
	members map[string]member
	cluster *databasev1alpha1.EtcdCluster // nil of a bare etcd
	// keepLog copies the write-ahead log of a member that is about to lose it.
	keepLog func(ctx context.Context, m member) error
}

// plan is what befalls one cluster after the other. Plans run side by side, so each takes about as long.
type plan struct {
	name, version string
	faults        []faultRow
}

var plans = []plan{
	{name: "processes and size", faults: []faultRow{
		{name: "leader killed (kill -9)", bare: true, inject: killLeader},
		{name: "follower killed (kill -9)", bare: true, inject: killFollower},
		{name: "all members killed at once", bare: true, inject: killAll},
		{name: "leader hangs for 5 s", bare: true, lasts: 5 * time.Second, inject: hangLeader},
		{name: "leader cut off from the others for 5 s", bare: true, lasts: 5 * time.Second, inject: cutLeaderOff},
		{name: "leader's disk accepts 40 writes a second for 5 s", bare: true, lasts: 5 * time.Second, inject: slowLeader},
		{name: "size from 3 to 5 and back", inject: widenAndShrink},
	}},
	{name: "pods", faults: []faultRow{
		{name: "leader's pod deleted", bare: true, inject: deleteLeader},
		{name: "follower's pod deleted", bare: true, inject: deleteFollower},
		{name: "leader's pod evicted", bare: true, inject: evictLeader},
		{name: "rolling restart", bare: true, inject: restart},
	}},
	{name: "members", version: "3.6", faults: []faultRow{
		{name: "version raised from 3.6 to 3.7", inject: raiseVersion},
		{name: "follower's disk emptied", inject: emptyFollower},
		{name: "leader's disk emptied", inject: emptyLeader},
		{name: "follower's disk emptied, then the operator's leader killed", alone: true, inject: emptyFollowerAndKillOperator},
		{name: "leader killed, the API server hangs for 4 s", alone: true, lasts: 4 * time.Second, inject: killLeaderWithoutAPIServer},
	}},
}

// happen injects the fault once, and waits until all members are healthy again. It returns since when they are.
func (f faultRow) happen(ctx context.Context, s *scene) (since time.Time, err error) {
	undo, over, err := f.inject(ctx, s)
	if err != nil {
		return since, fmt.Errorf("%s: %w", f.name, err)
	}
	if undo != nil {
		select {
		case <-ctx.Done():
		case <-time.After(f.lasts): // the fault lasts so long
		}
		if err := undo(); err != nil {
			return since, fmt.Errorf("%s: ending it: %w", f.name, err)
		}
	}
	if over == nil {
		over = atOnce
	}
	if _, since, err = s.heals(ctx, s.size, over, stillness); err != nil {
		err = fmt.Errorf("%s: %w", f.name, err)
	}
	return since, err
}

// leader is the member that leads.
func (s *scene) leader() member {
	for _, m := range s.members {
		if m.leads {
			return m
		}
	}
	return member{}
}

// followers are the others, by name.
func (s *scene) followers() []member {
	var all []member
	for _, name := range slices.Sorted(maps.Keys(s.members)) {
		if m := s.members[name]; !m.leads {
			all = append(all, m)
		}
	}
	return all
}

// replaces reports whether the pods of these members are others.
func (s *scene) replaces(members ...member) func(map[string]member) bool {
	var names []string
	for _, m := range members {
		names = append(names, m.pod.Name)
	}
	return replaced(s.members, names...)
}

type undoFunc = func() error

type overFunc = func(map[string]member) bool

// kill the servers of some members. It is over when others run in their place.
func kill(members ...member) (over overFunc, err error) {
	former := map[int]bool{}
	for _, m := range members {
		numbers, err := fault.Processes(m.pod.UID, program)
		if err != nil {
			return nil, err
		}
		for _, n := range numbers {
			former[n] = true
		}
	}
	for _, m := range members {
		if err := fault.Kill(m.pod.UID, program); err != nil {
			return nil, err
		}
	}
	return func(map[string]member) bool {
		for _, m := range members {
			now, err := fault.Processes(m.pod.UID, program)
			if err != nil || slices.ContainsFunc(now, func(n int) bool { return former[n] }) {
				return false
			}
		}
		return true
	}, nil
}

func killLeader(_ context.Context, s *scene) (undoFunc, overFunc, error) {
	over, err := kill(s.leader())
	return nil, over, err
}

func killFollower(_ context.Context, s *scene) (undoFunc, overFunc, error) {
	over, err := kill(s.followers()[0])
	return nil, over, err
}

func killAll(_ context.Context, s *scene) (undoFunc, overFunc, error) {
	over, err := kill(slices.Collect(maps.Values(s.members))...)
	return nil, over, err
}

func hangLeader(_ context.Context, s *scene) (undoFunc, overFunc, error) {
	undo, err := fault.Hang(s.leader().pod.UID, program)
	return undo, nil, err
}

func cutLeaderOff(ctx context.Context, s *scene) (undoFunc, overFunc, error) {
	var others []string
	for _, m := range s.followers() {
		others = append(others, m.pod.Status.PodIP)
	}
	undo, err := fault.Partition(ctx, s.leader().pod.UID, program, time.Minute, others...)
	return undo, nil, err
}

func slowLeader(_ context.Context, s *scene) (undoFunc, overFunc, error) {
	undo, err := fault.SlowDisk(s.leader().pod.UID, program, dataFolder, 40)
	return undo, nil, err
}

func deleteLeader(ctx context.Context, s *scene) (undoFunc, overFunc, error) {
	leader := s.leader()
	return nil, s.replaces(leader), k8s.Delete(ctx, &leader.pod)
}

func deleteFollower(ctx context.Context, s *scene) (undoFunc, overFunc, error) {
	follower := s.followers()[0]
	return nil, s.replaces(follower), k8s.Delete(ctx, &follower.pod)
}

// evictLeader asks until it is allowed, as kubectl drain does.
func evictLeader(ctx context.Context, s *scene) (undoFunc, overFunc, error) {
	leader := s.leader()
	return nil, s.replaces(leader), poll(ctx, func(ctx context.Context) error {
		return k8s.SubResource("eviction").Create(ctx, &leader.pod, &policyv1.Eviction{})
	})
}

// restart all pods as kubectl rollout restart does.
func restart(ctx context.Context, s *scene) (undoFunc, overFunc, error) {
	var set appsv1.StatefulSet
	if err := k8s.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: s.name}, &set); err != nil {
		return nil, nil, err
	}
	before := set.DeepCopy()
	if set.Spec.Template.Annotations == nil {
		set.Spec.Template.Annotations = map[string]string{}
	}
	set.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] = time.Now().Format(time.RFC3339)
	return nil, s.replaces(slices.Collect(maps.Values(s.members))...), k8s.Patch(ctx, &set, client.MergeFrom(before))
}

// edit the EtcdCluster as a user does.
func (s *scene) edit(ctx context.Context, change func(*databasev1alpha1.EtcdClusterSpec)) error {
	if err := k8s.Get(ctx, client.ObjectKeyFromObject(s.cluster), s.cluster); err != nil {
		return err
	}
	before := s.cluster.DeepCopy()
	change(&s.cluster.Spec)
	return k8s.Patch(ctx, s.cluster, client.MergeFrom(before))
}

func widenAndShrink(ctx context.Context, s *scene) (undoFunc, overFunc, error) {
	const most = 5
	for _, size := range []int{most, s.size} {
		if err := s.edit(ctx, func(e *databasev1alpha1.EtcdClusterSpec) { e.Size = ptr.To(int32(size)) }); err != nil {
			return nil, nil, err
		}
		if _, _, err := s.heals(ctx, size, atOnce, 0); err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, nil
}

func raiseVersion(ctx context.Context, s *scene) (undoFunc, overFunc, error) {
	const next = "3.7"
	over := func(now map[string]member) bool {
		for _, m := range now {
			if !strings.HasPrefix(m.version, next+".") {
				return false
			}
		}
		return true
	}
	return nil, over, s.edit(ctx, func(e *databasev1alpha1.EtcdClusterSpec) { e.Version = next })
}

// empty the disk of a member, which is then another one.
func (s *scene) empty(ctx context.Context, m member) (overFunc, error) {
	if err := s.keepLog(ctx, m); err != nil {
		return nil, err
	}
	over := func(now map[string]member) bool { return now[m.pod.Name].id != m.id }
	return over, fault.WipeDisk(m.pod.UID, program, dataFolder)
}

func emptyFollower(ctx context.Context, s *scene) (undoFunc, overFunc, error) {
	over, err := s.empty(ctx, s.followers()[0])
	return nil, over, err
}

func emptyLeader(ctx context.Context, s *scene) (undoFunc, overFunc, error) {
	over, err := s.empty(ctx, s.leader())
	return nil, over, err
}

// emptyFollowerAndKillOperator kills the operator's leader once it has written down that it replaces the member.
func emptyFollowerAndKillOperator(ctx context.Context, s *scene) (undoFunc, overFunc, error) {
	if err := k8s.Get(ctx, client.ObjectKeyFromObject(s.cluster), s.cluster); err != nil {
		return nil, nil, err
	}
	follower := s.followers()[0]
	over, err := s.empty(ctx, follower)
	if err != nil {
		return nil, nil, err
	}
	if err := awaitStatus(ctx, s.cluster, func(status *databasev1alpha1.EtcdClusterStatus) bool {
		return status.Membership != nil && status.Membership.Change != nil && status.Membership.Change.Name == follower.pod.Name
	}); err != nil {
		return nil, nil, fmt.Errorf("no change of %s is recorded: %w", follower.pod.Name, err)
	}
	operator, err := cluster.LeaderPod(ctx, k8s)
	if err != nil {
		return nil, nil, err
	}
	return nil, over, fault.Kill(operator, cluster.OperatorProgram)
}

// killLeaderWithoutAPIServer kills while nothing can be written down.
func killLeaderWithoutAPIServer(_ context.Context, s *scene) (undoFunc, overFunc, error) {
	server, err := cluster.APIServer()
	if err != nil {
		return nil, nil, err
	}
	undo, err := fault.HangProcess(server)
	if err != nil {
		return nil, nil, err
	}
	over, err := kill(s.leader())
	if err != nil {
		return nil, nil, errors.Join(err, undo())
	}
	return undo, over, nil
}
