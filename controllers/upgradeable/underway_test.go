package upgradeable

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/conditions"
	"github.com/mainstay-operator/mainstay-operator/test/factory"
)

// change of a Redis that is well: three nodes, a-0 is master.
type change func(*cachev1alpha1.Redis)

func well(changes ...change) *cachev1alpha1.Redis {
	r := factory.Redis("a").Size(3).Build()
	r.Namespace = "shop"
	r.Status = cachev1alpha1.RedisStatus{
		Master: "a-0", TargetMaster: "a-0", Epoch: 4, Replicas: 3, ReadyReplicas: 3,
		Replication:  &cachev1alpha1.RedisReplication{Epoch: 4},
		LastFailover: &cachev1alpha1.RedisFailover{Epoch: 4, To: "a-0", RoutedAt: ptr.To(metav1.NowMicro())},
		Nodes: []cachev1alpha1.RedisNode{
			{Name: "a-0", State: cachev1alpha1.RedisMaster}, {Name: "a-1", State: cachev1alpha1.RedisInSync}, {Name: "a-2", State: cachev1alpha1.RedisInSync}},
	}
	for _, c := range append([]change{
		says(commonv1.ConditionReady, true, commonv1.ReasonReplicas), says(commonv1.ConditionAvailable, true, commonv1.ReasonMasterServes),
		says(commonv1.ConditionDegraded, false, commonv1.ReasonAsExpected)}, changes...) {
		c(r)
	}
	return r
}

func says(kind string, status bool, reason string) change {
	return func(r *cachev1alpha1.Redis) { conditions.Set(&r.Status.Conditions, 1, kind, status, reason, "") }
}

func node(n int, state cachev1alpha1.RedisNodeState) change {
	return func(r *cachev1alpha1.Redis) { r.Status.Nodes[n].State = state }
}

func TestUnderWay(t *testing.T) {
	asked := func(r *cachev1alpha1.Redis) { r.Spec.Hibernate = true }
	nobody := func(r *cachev1alpha1.Redis) {
		r.Status.Replication = nil
		conditions.Set(&r.Status.Conditions, 1, commonv1.ConditionAvailable, false, commonv1.ReasonNoMaster, "")
	}
	silent := says(commonv1.ConditionAvailable, false, commonv1.ReasonNoMaster)
	intended := func(r *cachev1alpha1.Redis) { r.Status.Epoch, r.Status.TargetMaster = 5, "a-1" }
	unrouted := func(r *cachev1alpha1.Redis) { r.Status.LastFailover.RoutedAt = nil }
	split := says(commonv1.ConditionSplitBrain, true, commonv1.ReasonSeveralMasters)
	rolling := says(commonv1.ConditionReady, false, commonv1.ReasonRolling)
	human := func(r *cachev1alpha1.Redis) {
		r.Spec.Update = &cachev1alpha1.RedisUpdate{Strategy: cachev1alpha1.RedisSupervised}
	}
	degraded := func(reason string) change { return says(commonv1.ConditionDegraded, true, reason) }

	for name, c := range map[string]struct {
		of   *cachev1alpha1.Redis
		want string
	}{
		"it is well":                                   {well(), ""},
		"it was just made":                             {factory.Redis("a").Build(), noMaster},
		"it waits for its first master":                {well(nobody), noMaster},
		"its pods do not start":                        {well(nobody, degraded(commonv1.ReasonPodFailing)), ""},
		"its spec is wrong from the start":             {well(nobody, degraded(commonv1.ReasonInvalid)), ""},
		"its master is lost":                           {well(silent), noMaster},
		"its master is lost and its pod keeps failing": {well(silent, degraded(commonv1.ReasonPodFailing)), noMaster},
		"a promotion is intended":                      {well(intended), changingMaster},
		"and pods keep failing meanwhile":              {well(intended, degraded(commonv1.ReasonPodFailing)), changingMaster},
		"two nodes are masters":                        {well(split), severalMasters},
		"and nobody knows which is right":              {well(split, degraded(commonv1.ReasonPromotionBlocked)), ""},
		"a disk is full":                               {well(node(2, cachev1alpha1.RedisFenced), degraded(commonv1.ReasonDiskError)), ""},
		"clients are not led to the master yet":        {well(unrouted), changingMaster},
		"an intent was given up, the master is the old one": {
			well(unrouted, func(r *cachev1alpha1.Redis) { r.Status.LastFailover.To = "a-1" }), ""},
		"it was adopted without a failover":        {well(func(r *cachev1alpha1.Redis) { r.Status.LastFailover = nil }), ""},
		"a switchover is only wished for":          {well(func(r *cachev1alpha1.Redis) { r.Annotations = map[string]string{cachev1alpha1.RedisSwitchover: "a-1"} }), ""},
		"it goes to sleep":                         {well(asked), goingToSleep},
		"it sleeps":                                {well(asked, nobody), ""},
		"it wakes":                                 {well(nobody, says(commonv1.ConditionReady, false, commonv1.ReasonHibernated)), noMaster},
		"a node goes with the size":                {well(func(r *cachev1alpha1.Redis) { r.Spec.Size = ptr.To[int32](2) }), scalingIn},
		"a node is fenced":                         {well(node(2, cachev1alpha1.RedisFenced)), nodesJoin},
		"a node syncs":                             {well(node(2, cachev1alpha1.RedisSyncing)), nodesJoin},
		"a node loads":                             {well(node(2, cachev1alpha1.RedisLoading)), nodesJoin},
		"a node is away, which nobody can help":    {well(node(2, cachev1alpha1.RedisUnreachable), says(commonv1.ConditionReady, false, commonv1.ReasonReplicas)), ""},
		"a node of it cannot start":                {well(node(2, cachev1alpha1.RedisFenced), degraded(commonv1.ReasonPodFailing)), ""},
		"its pods are replaced":                    {well(rolling), replacingPods},
		"to a template that does not start":        {well(rolling, degraded(commonv1.ReasonPodFailing)), ""},
		"the rest of its update waits for a human": {well(rolling, human), ""},
		"a replica of a supervised update is back": {well(rolling, human, node(1, cachev1alpha1.RedisSyncing)), nodesJoin},
		"a promotion could lose writes":            {well(silent, degraded(commonv1.ReasonPromotionBlocked)), ""},
		"also with an intent":                      {well(silent, intended, degraded(commonv1.ReasonPromotionBlocked)), ""},
		"nobody answers the operator":              {well(silent, degraded(commonv1.ReasonOperatorCannotReachPods)), ""},
		"nobody knows its password":                {well(silent, degraded(commonv1.ReasonLockedOut)), ""},
		"a user's Secret is missing":               {well(degraded(commonv1.ReasonSecretUnusable)), ""},
		"and the master is lost, too":              {well(silent, degraded(commonv1.ReasonSecretUnusable)), noMaster},
		"it is paused":                             {well(silent, intended, func(r *cachev1alpha1.Redis) { r.Spec.Paused = true }), ""},
		"it is being deleted":                      {well(silent, func(r *cachev1alpha1.Redis) { r.DeletionTimestamp = ptr.To(metav1.NewTime(time.Unix(1, 0))) }), ""},
		"passwords, certificates and settings are on their way": {well(says(commonv1.ConditionCredentialsInSync, false, commonv1.ReasonRotating),
			says(commonv1.ConditionCertificatesInSync, false, commonv1.ReasonReloading), says(commonv1.ConditionSettingsInSync, false, commonv1.ReasonApplyingSettings)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := underWay(c.of); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
