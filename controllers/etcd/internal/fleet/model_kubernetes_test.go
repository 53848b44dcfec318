package fleet

import (
	"errors"
	"fmt"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/children"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

// modelKubernetes is what Kubernetes has of the children other than the pods, and what others than the operator may do to them.
type modelKubernetes struct {
	// Budget of pods, as it was written last.
	Budget budget
	// SetGone: the StatefulSet was deleted. No pod is made meanwhile.
	SetGone bool
	// Going are the claims, by ordinal, that are deleted as soon as no pod uses them.
	Going [membership.MaxSize]bool
	// DeletesClaims: storage.retention is Delete.
	DeletesClaims bool
	// Meddles is how often somebody else may yet change a child. NodeReturns is how many silent nodes may yet report again.
	Meddles, NodeReturns int
}

// budget is a PodDisruptionBudget.
type budget int

const (
	noBudget budget = iota
	sparesNone
	sparesOne
)

// budgetInputs are what a budget is made from.
type budgetInputs struct {
	size    int32
	count   int
	members [membership.MaxSize]struct{ ran, joined bool }
}

// budgets caches what budgetFor returned, because building all children is slow.
var budgets sync.Map

// budgetFor is the budget that the operator makes of a spec and a record.
func budgetFor(size int32, record *databasev1alpha1.EtcdMembership) budget {
	from := budgetInputs{size: size, count: len(record.Members)}
	for i, member := range record.Members {
		from.members[i].ran, from.members[i].joined = member.Ran, member.Joined
	}
	if known, ok := budgets.Load(from); ok {
		return known.(budget) //nolint:forcetypeassert // nothing else is in it
	}
	e, made := builders.EtcdCluster("a").Size(size).Build(), noBudget
	e.Status.Membership = record
	for _, child := range children.Desired(children.Inputs{Cluster: e, Spec: config.Resolve(e, &appsv1.StatefulSet{}, nil)}) {
		if b, is := child.(*policyv1ac.PodDisruptionBudgetApplyConfiguration); is {
			made = sparesNone + budget(b.Spec.MaxUnavailable.IntValue())
		}
	}
	budgets.Store(from, made)
	return made
}

// evicts reports whether the API server evicts a pod, as pkg/registry/core/pod/storage/eviction.go of Kubernetes decides. It counts by
// the budget and the StatefulSet as they were written last. Pods that no StatefulSet owns cannot be counted, and none is spared.
func (m *model) evicts(i int) bool {
	if m.Budget == noBudget {
		return true
	}
	ready, wanted := 0, int(m.Replicas)-int(m.Budget-sparesNone)
	for j := range m.Pods {
		if m.isReady(j) {
			ready++
		}
	}
	switch {
	case m.SetGone:
		return false
	case m.isReady(i):
		return ready > wanted
	}
	return wanted > 0 && ready >= wanted // unhealthyPodEvictionPolicy is IfHealthyBudget
}

// isReady reports whether the probe of a pod finds that its server sees a majority, and is no learner.
func (m *model) isReady(i int) bool {
	one := m.raft(m.Volumes[i].ID)
	return one != nil && !one.Learner && m.runs(i, one.ID) && m.hasQuorum()
}

// writeChildren writes the budget and then the StatefulSet, in the order of children.Desired. What is as it should be is not sent.
func (m *modelEffects) writeChildren(f *Fleet) error {
	record := m.object.Status.Membership
	if record == nil { // then nothing but what the pod of a backup needs is made
		return nil
	}
	if m.version != m.Version { // what exists is changed only by an object that the API server confirms
		return errStale
	}
	if next := budgetFor(f.Spec.Size, record); next != m.Budget {
		if err := m.call(func() error { m.Budget = next; return nil }); err != nil {
			return err
		}
	}
	seen := m.cachedObject()
	next := modelSet{f.Situation().DesiredPods(), minorOf(m.object.Status.TargetVersion), seen.mistakeIn(&m.object.Status)}
	if next == m.set() && !m.SetGone {
		return nil
	}
	return m.call(func() error {
		m.Replicas, m.Template, m.TemplateBroken, m.SetGone = next.replicas, next.minor, next.broken, false
		return nil
	})
}

// modelSet is a StatefulSet.
type modelSet struct {
	replicas      int32
	minor, broken int
}

func (m *model) set() modelSet { return modelSet{m.Replicas, m.Template, m.TemplateBroken} }

// errStale says that an object is not as the pass has seen it.
var errStale = errors.New("the cache is behind")

// settleClaims deletes the claims that no member needs, if the retention says so. Each is deleted as it was seen, after the API server
// was asked whether the spec is still the one that the pass has read.
func (m *modelEffects) settleClaims(f *Fleet) error {
	if !m.DeletesClaims || m.object.Status.Membership == nil {
		return nil
	}
	for i := range int32(membership.MaxSize) {
		s, name, seen := f.Situation(), f.Spec.MemberName(i), m.cachedPods()
		if seen.Volumes[i].DataID == "" || seen.Going[i] || s.HasPlace(name) || !s.IsClaimUnneeded(name, seen.Volumes[i].Token) {
			continue
		}
		if f.Spec.Size != m.Size || seen.Claims[i] != m.Claims[i] {
			return errStale
		}
		if err := m.call(func() error { return m.deleteClaim(int(i)) }); err != nil {
			return err
		}
	}
	return nil
}

// deleteClaim deletes a claim, which stays while a pod uses it.
func (m *model) deleteClaim(i int) error {
	if one := m.raft(m.Volumes[i].ID); one != nil {
		return broken("the claim of " + one.Name + " is deleted, and etcd lists that member")
	}
	if m.Going[i] = true; m.Pods[i].UID == "" {
		m.dropClaim(i)
	}
	return nil
}

// dropClaim has a claim go with its data. The next pod gets another.
func (m *model) dropClaim(i int) {
	m.Volumes[i], m.Going[i] = modelData{}, false
	m.Claims[i]++
	m.Marks[i], m.Stamps[i] = "", ""
}

// checkOnlyCopy returns an error if the operator deletes a pod whose claim goes with it, and no other member has all that it has.
func (m *model) checkOnlyCopy(i int) error {
	if !m.Going[i] || m.isReplacing() {
		return nil
	}
	before, without := m.held(), m.clone()
	if without.dropClaim(i); without.held() < before {
		return broken(fmt.Sprintf("pod %d is deleted, and its claim goes with data that no other member has", i))
	}
	return nil
}

// meddleActions are what somebody does to the StatefulSet and to claims.
func meddleActions() []action {
	list := []action{
		meddle("somebody scales the StatefulSet down", func(m *model) bool {
			if m.Replicas == 0 || m.SetGone {
				return false
			}
			m.Replicas--
			m.removePod(int(m.Replicas))
			return true
		}),
		meddle("somebody deletes the StatefulSet, and not its pods", func(m *model) bool {
			happens := !m.SetGone
			m.SetGone = true
			return happens
		}),
		meddle("somebody deletes the StatefulSet and its pods", func(m *model) bool {
			happens := !m.SetGone
			m.SetGone = true
			for i := range m.Pods {
				m.removePod(i)
			}
			return happens
		}),
	}
	for i := range membership.MaxSize {
		list = append(list, meddle(fmt.Sprintf("somebody deletes the claim of pod %d", i), func(m *model) bool {
			happens := m.Storage && m.Pods[i].UID != "" && !m.Going[i]
			m.Going[i] = true
			return happens
		}))
	}
	return list
}

// meddle is an event that others than the operator bring about.
func meddle(name string, do func(*model) bool) action {
	return action{name, func(m *model) (bool, error) {
		if m.Meddles == 0 {
			return false, nil
		}
		m.Meddles--
		return do(m), nil
	}}
}

// nodeActions are those of silent nodes.
func nodeActions() []action {
	var list []action
	for i := range membership.MaxSize {
		list = append(list, action{fmt.Sprintf("the node of pod %d reports again", i), func(m *model) (bool, error) {
			if m.NodeReturns == 0 || !m.Pods[i].Silent {
				return false, nil
			}
			m.NodeReturns--
			m.Pods[i].Silent = false
			return true, nil
		}})
	}
	return list
}

// isStuckOnClaim reports whether the pod of the only member must be recreated, and its claim would go with it: a human must decide.
func (m *model) isStuckOnClaim() bool {
	return len(m.Raft) == 1 && m.Going[ordinalOf(m.Raft[0].Name)]
}

// isSurvivorGoing reports whether a recovery is recorded, and the claim of the member that it continues from is being deleted: a human
// must save the data.
func (m *model) isSurvivorGoing() bool {
	return m.isRecovering() && m.Going[ordinalOf(m.Status.Membership.Change.Name)]
}

// meddled returns a model in which somebody may change children up to that often.
func meddled(m *model, times int) *model {
	m.Meddles = times
	return m
}

// shrinking is a cluster of three that becomes one, whose claims go, while nodes are drained.
func shrinking(retained bool) *model {
	m := formed(3, 1, true)
	m.Drains, m.DeletesClaims = 1, !retained
	return m
}

// outdatedAlone is the only member, whose pod is to be recreated.
func outdatedAlone() *model {
	m := outdated(1, true)
	m.Drains = 0
	return m
}

// deadWhileMistaken is one of three that has lost its majority: the node of one is silent, and another has a template that never starts.
func deadWhileMistaken() *model {
	m := formed(3, 3, true)
	m.Broken, m.TemplateBroken, m.NodeReturns = isUnschedulable, isUnschedulable, 1
	m.removePod(1)
	m.removePod(2)
	m.Pods[1].UID, m.Pods[1].Broken = m.newPodUID(1), isUnschedulable
	m.Pods[2].UID, m.Pods[2].Silent = m.newPodUID(2), true
	return m
}
