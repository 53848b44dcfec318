package upgradeable

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

// change changes a healthy Redis: three nodes, a-0 is master.
type change func(*cachev1alpha1.Redis)

func healthy(changes ...change) *cachev1alpha1.Redis {
	r := builders.Redis("a").Size(3).Build()
	r.Namespace = "shop"
	r.Status = cachev1alpha1.RedisStatus{
		Master: "a-0", TargetMaster: "a-0", Epoch: 4, Replicas: 3, ReadyReplicas: 3,
		Replication:  &cachev1alpha1.RedisReplication{Epoch: 4},
		LastFailover: &cachev1alpha1.RedisFailover{Epoch: 4, To: "a-0", RoutedAt: ptr.To(metav1.NowMicro())},
		Nodes: []cachev1alpha1.RedisNode{
			{Name: "a-0", State: cachev1alpha1.RedisMaster}, {Name: "a-1", State: cachev1alpha1.RedisInSync},
			{Name: "a-2", State: cachev1alpha1.RedisInSync}},
	}
	for _, c := range append([]change{
		withCondition(commonv1.ConditionReady, true, commonv1.ReasonReplicas),
		withCondition(commonv1.ConditionAvailable, true, commonv1.ReasonMasterServes),
		withCondition(commonv1.ConditionDegraded, false, commonv1.ReasonAsExpected)}, changes...) {
		c(r)
	}
	return r
}

func withCondition(kind string, status bool, reason string) change {
	return func(r *cachev1alpha1.Redis) { conditions.Set(&r.Status.Conditions, 1, kind, status, reason, "") }
}

func withNodeState(n int, state cachev1alpha1.RedisNodeState) change {
	return func(r *cachev1alpha1.Redis) { r.Status.Nodes[n].State = state }
}

func TestRedisChange(t *testing.T) {
	asked := func(r *cachev1alpha1.Redis) { r.Spec.Hibernate = true }
	withoutMaster := func(r *cachev1alpha1.Redis) {
		r.Status.Replication = nil
		conditions.Set(&r.Status.Conditions, 1, commonv1.ConditionAvailable, false, commonv1.ReasonNoMaster, "")
	}
	silent := withCondition(commonv1.ConditionAvailable, false, commonv1.ReasonNoMaster)
	intended := func(r *cachev1alpha1.Redis) { r.Status.Epoch, r.Status.TargetMaster = 5, "a-1" }
	unrouted := func(r *cachev1alpha1.Redis) { r.Status.LastFailover.RoutedAt = nil }
	split := withCondition(commonv1.ConditionSplitBrain, true, commonv1.ReasonSeveralMasters)
	rolling := withCondition(commonv1.ConditionReady, false, commonv1.ReasonRollingOut)
	human := func(r *cachev1alpha1.Redis) {
		r.Spec.Update = &cachev1alpha1.RedisUpdate{Strategy: cachev1alpha1.RedisSupervised}
	}
	degraded := func(reason string) change { return withCondition(commonv1.ConditionDegraded, true, reason) }

	for name, c := range map[string]struct {
		of   *cachev1alpha1.Redis
		want string
	}{
		"it is well":                                      {healthy(), ""},
		"it was just made":                                {builders.Redis("a").Build(), noMaster},
		"it waits for its first master":                   {healthy(withoutMaster), noMaster},
		"its pods do not start":                           {healthy(withoutMaster, degraded(commonv1.ReasonPodFailing)), ""},
		"its spec is wrong from the start":                {healthy(withoutMaster, degraded(commonv1.ReasonInvalidSpec)), ""},
		"its master is lost":                              {healthy(silent), noMaster},
		"its master is lost and its pod keeps failing":    {healthy(silent, degraded(commonv1.ReasonPodFailing)), noMaster},
		"a promotion is intended":                         {healthy(intended), changingMaster},
		"a promotion is intended while pods keep failing": {healthy(intended, degraded(commonv1.ReasonPodFailing)), changingMaster},
		"two nodes are masters":                           {healthy(split), severalMasters},
		"several masters, and the right one is not known": {healthy(split, degraded(commonv1.ReasonSeveralMasters)), ""},
		"a disk is full": {healthy(withNodeState(2, cachev1alpha1.RedisFenced),
			degraded(commonv1.ReasonDiskError)), ""},
		"clients are not led to the master yet": {healthy(unrouted), changingMaster},
		"an intent was given up, the master is the old one": {
			healthy(unrouted, func(r *cachev1alpha1.Redis) { r.Status.LastFailover.To = "a-1" }), ""},
		"it was adopted without a failover": {healthy(func(r *cachev1alpha1.Redis) { r.Status.LastFailover = nil }), ""},
		"a switchover is only wished for": {healthy(func(r *cachev1alpha1.Redis) {
			r.Annotations = map[string]string{cachev1alpha1.RedisSwitchover: "a-1"}
		}), ""},
		"it goes to sleep": {healthy(asked), hibernating},
		"it sleeps":        {healthy(asked, withoutMaster), ""},
		"it wakes": {healthy(withoutMaster,
			withCondition(commonv1.ConditionReady, false, commonv1.ReasonHibernated)), noMaster},
		"a node goes with the size": {healthy(func(r *cachev1alpha1.Redis) { r.Spec.Size = ptr.To[int32](2) }), scalingIn},
		"a node is fenced":          {healthy(withNodeState(2, cachev1alpha1.RedisFenced)), joiningNodes},
		"a node syncs":              {healthy(withNodeState(2, cachev1alpha1.RedisSyncing)), joiningNodes},
		"a node loads":              {healthy(withNodeState(2, cachev1alpha1.RedisLoading)), joiningNodes},
		"a node is unreachable": {healthy(withNodeState(2, cachev1alpha1.RedisUnreachable),
			withCondition(commonv1.ConditionReady, false, commonv1.ReasonReplicas)), ""},
		"a node of it cannot start": {healthy(withNodeState(2, cachev1alpha1.RedisFenced), degraded(commonv1.ReasonPodFailing)),
			""},
		"its pods are replaced":                           {healthy(rolling), replacingPods},
		"its pods are replaced by ones that do not start": {healthy(rolling, degraded(commonv1.ReasonPodFailing)), ""},
		"the rest of its update waits for a human":        {healthy(rolling, human), ""},
		"a replica of a supervised update is back": {healthy(rolling, human, withNodeState(1, cachev1alpha1.RedisSyncing)),
			joiningNodes},
		"a promotion could lose writes":                     {healthy(silent, degraded(commonv1.ReasonPromotionBlocked)), ""},
		"a promotion that is intended could lose writes":    {healthy(silent, intended, degraded(commonv1.ReasonPromotionBlocked)), ""},
		"no node answers the operator":                      {healthy(silent, degraded(commonv1.ReasonOperatorCannotReachPods)), ""},
		"the operator is locked out":                        {healthy(silent, degraded(commonv1.ReasonLockedOut)), ""},
		"a user's Secret is missing":                        {healthy(degraded(commonv1.ReasonSecretUnusable)), ""},
		"a user's Secret is missing and the master is lost": {healthy(silent, degraded(commonv1.ReasonSecretUnusable)), noMaster},
		"it is paused": {healthy(silent, intended,
			func(r *cachev1alpha1.Redis) { r.Spec.Paused = true }), ""},
		"it is being deleted": {healthy(silent,
			func(r *cachev1alpha1.Redis) { r.DeletionTimestamp = ptr.To(metav1.NewTime(time.Unix(1, 0))) }), ""},
		"passwords, certificates and settings are on their way": {healthy(withCondition(commonv1.ConditionCredentialsInSync, false,
			commonv1.ReasonRotating),
			withCondition(commonv1.ConditionCertificatesInSync, false, commonv1.ReasonReloading),
			withCondition(commonv1.ConditionSettingsInSync, false, commonv1.ReasonApplyingSettings)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := redisChange(c.of); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
