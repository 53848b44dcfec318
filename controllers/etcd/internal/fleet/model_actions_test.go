package fleet

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// ordinal is one in the name of an action.
var ordinal = regexp.MustCompile(`\b(pod|server|volume|member) [0-9]\b`)

// action is one event of the model. It reports whether it can happen, and which promise it breaks.
type action struct {
	name string
	do   func(*model) (happens bool, err error)
}

// kind is its name without the ordinals of pods.
func (a action) kind() string { return ordinal.ReplaceAllString(a.name, "$1") }

// happen does it, and what follows at once.
func (a action) happen(m *model) (happens bool, err error) {
	happens, err = a.do(m)
	m.openToClients()
	return happens, err
}

// runPass runs one pass of the operator: it reads, plans, and acts by the shipped code, until it is killed after a call; 0 is never.
// A pass that is killed after its last call has done all of it, and one that is killed before a call leaves what one leaves that is
// killed after the call before: neither is an event of its own.
func runPass(dieAfter int) func(*model) (bool, error) {
	return func(m *model) (bool, error) {
		if dieAfter > 0 {
			if m.Crashes == 0 || m.passCalls > 0 && dieAfter >= m.passCalls-1 {
				return false, nil
			}
			m.Crashes--
		}
		e := m.object()
		outside := &modelEffects{model: m, object: e, version: m.cachedObject().Version, dieAfter: dieAfter}
		f := m.fleet(e, outside)
		if m.Cache != nil {
			outside.seen, outside.seenPods = &f.World, m.Cache.Pods
		}
		happened, err := runStep(f, outside, f.Situation().Plan())
		m.passCalls = 1 + outside.calls
		return happened, err
	}
}

// runStep acts, then does what follows in a pass: the children, the permits, and the claims.
func runStep(f *Fleet, outside *modelEffects, next membership.Step) (bool, error) {
	err := f.Act(context.Background(), next)
	var violated broken
	if errors.As(err, &violated) {
		return true, violated
	}
	if err == nil || isWaiting(err) {
		if err = outside.writeChildren(f); err == nil {
			err = f.WritePermits(context.Background())
		}
		if err == nil {
			err = outside.settleClaims(f)
		}
		if err == nil {
			err = outside.recordLogs(f)
		}
		if errors.As(err, &violated) {
			return true, violated
		}
	}
	if outside.dieAfter > 0 && !errors.Is(err, errCrashed) {
		return false, nil // there was no such call
	}
	return true, nil
}

// fallAsleep stops the operator after it has planned; wake lets it act on what it saw then.
func fallAsleep(m *model) (bool, error) {
	if m.Crashes == 0 || m.Asleep != nil || m.Cache != nil {
		return false, nil
	}
	e := m.object()
	f := m.fleet(e, &modelEffects{model: m, object: e, version: m.Version})
	next := f.Situation().Plan()
	if !next.Changes() && !next.RemovesPod() && !slices.Contains(changesBackups, next.Do) {
		return false, nil
	}
	m.Crashes--
	for i := range f.Members {
		f.Members[i].Record = nil // it is in the status
	}
	m.Asleep = &sleeper{Step: next, World: f.World, Pods: m.Pods, Spec: f.Spec,
		Status: *e.Status.DeepCopy(), Version: m.Version}
	m.Asleep.text = asText(m.Asleep)
	return true, nil
}

func wake(m *model) (bool, error) {
	s := m.Asleep
	if s == nil {
		return false, nil
	}
	m.Asleep = nil
	e := &databasev1alpha1.EtcdCluster{Status: *s.Status.DeepCopy()}
	outside := &modelEffects{model: m, object: e, version: s.Version}
	f := m.fleet(e, outside)
	f.Spec, f.World = s.Spec, s.World
	f.Members = slices.Clone(s.World.Members) // which other orders of events have, too
	for i := range f.Members {
		name := f.Members[i].Name
		f.Members[i].Record, f.servers[name] = recordOf(e, name), &modelServer{outside, ordinalOf(name)}
	}
	outside.seen, outside.seenPods = &f.World, s.Pods
	_, err := runStep(f, outside, s.Step)
	return true, err
}

// allowRecovery has a human allow what the operator asks for, but not to start without any data.
func allowRecovery(m *model) (bool, error) {
	if m.Humans == 0 || m.Cache != nil {
		return false, nil
	}
	e := m.object()
	f := m.fleet(e, &modelEffects{model: m, object: e, version: m.Version})
	next := f.Situation().Plan()
	_, token, asked := strings.Cut(next.Message, databasev1alpha1.EtcdAllowUnsafeRecovery+"=")
	if next.Do != membership.Block || !asked || token == m.Allowed || m.held() == 0 && !strings.Contains(next.Message, "whose log ends last") {
		return false, nil
	}
	m.Humans--
	m.Allowed = token
	m.noteAllowed(next.Message)
	return true, nil
}

// actionsOf are all that can happen from a model on.
func actionsOf(m *model) []action {
	list := generalActions()
	for _, group := range []struct {
		happens bool
		actions func() []action
	}{
		{m.Backup > 0, backupActions},
		{m.Scheduled, upgradeActions},
		{m.hasEdits(), specActions},
		{m.Kills > 0, memoryActions},
		{m.Meddles > 0, meddleActions},
		{m.NodeReturns > 0, nodeActions},
		{m.Lags > 0 || m.Cache != nil, cacheActions},
		{m.Quota > 0, spaceActions},
		{m.PowerFailures > 0, powerActions},
		{m.RecordsLogs, diskActions},
		{slices.ContainsFunc(m.Volumes[:], modelData.isAnothers), foreignActions},
		{m.Deletions > 0, deletionActions},
		{m.PutBacks > 0, func() []action { return []action{{"the API server is put back to an earlier state", putBack}} }},
	} {
		if group.happens {
			list = append(list, group.actions()...)
		}
	}
	return list
}

// generalActions are those that can happen to every model.
func generalActions() []action {
	list := []action{{"pass", runPass(0)},
		{"write", func(m *model) (bool, error) { return m.Writes == m.Backup && !m.refusesWrites() && m.write(), nil }},

		{"stop the operator", fallAsleep}, {"wake the operator", wake}, {"a human allows a recovery", allowRecovery}}
	for call := 1; call <= 3; call++ {
		list = append(list, action{fmt.Sprintf("pass, killed after call %d", call), runPass(call)})
	}
	for i := range membership.MaxSize {
		list = append(list, setActions(i)...)
		list = append(list, podActions(i)...)
	}
	return list
}

// setActions are what the StatefulSet's controller does with the pod at one ordinal.
func setActions(i int) []action {
	return []action{
		{fmt.Sprintf("pod %d is made", i), func(m *model) (bool, error) {
			if m.Pods[i].UID != "" || i >= int(m.Replicas) || m.SetGone {
				return false, nil
			}
			m.Pods[i].UID, m.Pods[i].Minor, m.Pods[i].Broken = m.newPodUID(i), m.Template, m.TemplateBroken
			return true, nil
		}},
		{fmt.Sprintf("pod %d is taken away", i), func(m *model) (bool, error) {
			if m.Pods[i].UID == "" || i < int(m.Replicas) || m.SetGone {
				return false, nil
			}
			m.removePod(i)
			return true, nil
		}},
	}
}

// podActions are those of the pod at one ordinal, its server and its volume.
func podActions(i int) []action {
	return []action{
		{fmt.Sprintf("server %d starts", i), func(m *model) (bool, error) {
			if m.Pods[i].UID == "" || m.Pods[i].Runs || m.Pods[i].Permit == "" {
				return false, nil
			}
			before := m.key()
			err := m.startServer(i)
			return m.key() != before, err
		}},
		{fmt.Sprintf("server %d is killed after it was made a cluster of one, before that is noted", i), func(m *model) (bool, error) {
			permit, _ := membership.ParsePermit(m.Pods[i].Permit)
			if m.Faults == 0 || m.Pods[i].Runs || permit.Force == "" || permit.Data != m.Volumes[i].DataID {
				return false, nil
			}
			if below, err := m.endsBelow(i, permit); below || err != nil {
				return false, err
			}
			m.Faults--
			return true, m.force(i, permit.Force)
		}},
		{fmt.Sprintf("the node of pod %d is drained", i), func(m *model) (bool, error) {
			if m.Drains == 0 || !m.Pods[i].Runs || !m.evicts(i) {
				return false, nil
			}
			m.Drains--
			m.removePod(i)
			return true, nil
		}},
		fault(fmt.Sprintf("server %d is killed", i), i, func(m *model) { m.Pods[i].Runs = false }),
		fault(fmt.Sprintf("pod %d is deleted", i), i, func(m *model) { m.removePod(i) }),
		fault(fmt.Sprintf("volume %d is emptied, and its server killed", i), i,
			func(m *model) { m.Pods[i].Runs, m.Volumes[i] = false, modelData{} }),
		fault(fmt.Sprintf("volume and pod %d are replaced", i), i,
			func(m *model) { m.removePod(i); m.dropClaim(i) }),
		fault(fmt.Sprintf("volume %d is restored from an earlier snapshot, with a new pod", i), i, func(m *model) {
			m.removePod(i)
			m.Volumes[i].Writes, m.Volumes[i].Old = 0, true
			m.Claims[i]++ // with the annotations of the former claim
		}),
	}
}

// fault is an event that the number of faults bounds, if it changes anything.
func fault(name string, i int, do func(*model)) action {
	return action{name, func(m *model) (bool, error) {
		if m.Faults == 0 || m.Pods[i].UID == "" {
			return false, nil
		}
		before := m.modelFacts
		if do(m); m.modelFacts == before {
			return false, nil
		}
		m.Faults--
		m.Returns = m.Returns && m.Status.Membership != nil
		m.Held = min(m.Held, m.held()) // what no volume has is not lost by the operator
		return true, nil
	}}
}
