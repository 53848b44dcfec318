package topology

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// masterState is what is known of the recorded master.
type masterState int

const (
	masterUnsure  masterState = iota // it does not answer, which proves nothing
	masterServing                    // it takes writes
	masterDead                       // its process is proven gone, or fenced
	masterLost                       // it cannot be asked, and no replica hears it
)

// recentIO is twice repl-ping-replica-period: a replica that had nothing from its master for longer does not
// hear it, though their connection may stand.
const recentIO = 2 * time.Second

// LostMasterWait is how long a fenced Redis waits for a master that cannot be asked: without acknowledgements that
// master stops taking writes after MaxLag, which it checks once a second.
func (s Situation) LostMasterWait() time.Duration { return s.MaxLag + time.Second }

// judgeMaster returns the state of the recorded master, and why. A closed connection or a time-out is never proof that a master
// is dead. A master that is silent for long is masterLost: it may live, so failover waits until it can take no writes.
func (s Situation) judgeMaster() (masterState, string) {
	p := s.Status.Replication.Master
	m := s.RecordedMaster(p)
	switch {
	case m.IsProcess(p) && m.Master:
		return masterServing, ""
	case m.IsProcess(p) && s.hearsOtherMaster(m):
		return masterUnsure, fmt.Sprintf("%s follows %s, which is not recorded", p.Name, m.MasterHost)
	case m.IsProcess(p):
		return masterDead, "the master was fenced: it takes no writes and follows no server"
	case s.Ghost == nil && m.PodUID == p.PodUID && m.Answer == wire.Reached:
		return masterDead, "the master was restarted: its run id is another"
	case s.Ghost != nil && m.Answer == wire.Reached:
		return masterDead, "somebody else answers at the master's address"
	case s.isErroringMaster():
		return s.judgeErroringMaster(m)
	case s.isAbsent(m):
		return s.judgeAbsentMaster(m)
	}
	return masterUnsure, p.Name + " does not know the operator's password"
}

// isAbsent reports whether a master gave no answer.
func (s Situation) isAbsent(m Node) bool {
	return m.Stopped || s.Ghost != nil || m.Answer == wire.Refused || m.Answer == wire.Silent || m.IsUnconfirmed()
}

// hearsOtherMaster reports whether a replica hears a server that may take writes.
func (s Situation) hearsOtherMaster(replica Node) bool {
	return replica.LinkUp && !replica.Fenced() && s.Count(func(m Node) bool { return m.Address == replica.MasterHost && m.Fenced() }) == 0
}

// judgeAbsentMaster judges a master that does not answer; its replicas are the witnesses. One whose end is not
// proven may live and serve: before it is replaced, they are fenced for so long that it stops taking writes.
func (s Situation) judgeAbsentMaster(m Node) (masterState, string) {
	silent := m.Answer == wire.Silent && !m.Stopped
	hearing := s.Where(func(o Node) bool {
		return o.Follows(s.Status.Replication.Master.Address) && o.LinkUp && (!silent || o.LastIO <= recentIO)
	})
	switch {
	case len(hearing) > 0 && !m.Unasked: // one that cannot be asked is replaced all the same: no Service leads to it
		return masterUnsure, fmt.Sprintf("%s does not answer but %s hears it", m.Name, hearing[0].Name)
	case m.IsUnconfirmed() && !m.Stopped:
		return masterUnsure, unconfirmedMessage([]Node{m})
	case m.Stopped:
		return masterDead, "the master's container is reported as terminated"
	case m.Answer == wire.Refused:
		return masterDead, "the master's address refuses connections and no replica hears it"
	case s.Ghost != nil: // also when it answers and does not know our password
		return masterLost, "the master's pod is gone, its process cannot be asked and no replica hears it"
	case m.SilentFor >= s.SilenceLimit:
		return masterLost, fmt.Sprintf("the master has not answered for %s and no replica hears it", s.SilenceLimit)
	}
	return masterUnsure, m.Name + " does not answer"
}

// failover fences the replicas, counts them, then promotes the one that has all. The fence comes first, as it makes final
// what they hold: nothing is confirmed behind our back. mayLive: the master's end is not proven (masterLost).
func (s Situation) failover(evidence string, mayLive bool) Step {
	if following := s.Where(func(m Node) bool { return m.Answers() && !m.Master && !m.Fenced() }); len(following) > 0 {
		return Step{Do: Fence, NodeNames: NamesOf(following), Message: evidence}
	}
	if limit := s.LostMasterWait(); mayLive && s.FencedFor < limit {
		return Step{Do: Wait, Message: evidence, RequeueAfter: min(limit-s.FencedFor, 10*ShortRequeue)}
	}
	candidates, reason := s.candidates(), commonv1.ReasonMasterLost
	if others := s.candidatesWithoutCutOffMaster(candidates); len(others) > 0 {
		candidates, reason = others, commonv1.ReasonMasterCutOff
	} else if s.isErroringMaster() {
		reason = commonv1.ReasonSwitchoverRequested
	}
	if strayed := s.strayedProcesses(candidates); len(strayed) > 0 {
		return s.askAboutStrayed(strayed, evidence)
	}
	if len(candidates) == 0 {
		return s.recoverRedis(evidence)
	}
	safe, count := s.isSafe(candidates)
	if unconfirmed := s.Where(Node.IsUnconfirmed); !safe && len(unconfirmed) > 0 {
		return waitForConfirmation(unconfirmed)
	}
	if !safe && !s.isUnsafeAllowed() {
		return Step{Do: Block, Message: fmt.Sprintf("%s; %s. %s",
			evidence, count, s.howToAllow("Waiting for the missing nodes; to continue without what only they hold"))}
	}
	return Step{Do: Promote, NodeNames: []string{candidates[0].Name}, Reason: reason, Evidence: evidence, Unsafe: !safe}
}

// candidates are the fenced processes, recorded or not, that have all that was confirmed before the record's
// history. Those of that history come first, the furthest of them first: within one history, a process that is further
// lacks nothing that others have.
func (s Situation) candidates() []Node {
	rep := s.Status.Replication
	candidates := s.Where(func(m Node) bool {
		lived := m.Pinned || s.isMember(m) || m.IsProcess(rep.Master) // else its history may be only what its file says
		return m.Answers() && m.Fenced() && lived && m.hasAllData(rep)
	})
	slices.SortStableFunc(candidates, func(a, b Node) int {
		return cmp.Or(boolToInt(b.ReplID == rep.ReplID)-boolToInt(a.ReplID == rep.ReplID), cmp.Compare(b.Offset, a.Offset),
			boolToInt(b.Name == s.Status.TargetMaster)-boolToInt(a.Name == s.Status.TargetMaster),
			boolToInt(s.isAskedFor(b))-boolToInt(s.isAskedFor(a)))
	})
	return candidates
}

// isSafe reports whether the candidates have every confirmed write, by R + W > N: any W members that confirmed a
// write share one with the R fenced ones. The fenced master itself has every write.
func (s Situation) isSafe(candidates []Node) (bool, string) {
	rep := s.Status.Replication
	fenced, all := 0, len(rep.SyncSet)
	for _, m := range s.Nodes {
		isCandidate := slices.ContainsFunc(candidates, func(h Node) bool { return h.Name == m.Name })
		switch {
		case m.IsProcess(rep.Master) && isCandidate:
			return true, ""
		case !s.isMember(m):
		case isCandidate:
			fenced++
		case m.Answers() && !m.hasHistory(rep):
			all-- // it confirmed nothing
		}
	}
	w := s.requiredConfirmations()
	// R + W > N
	return fenced+w > all, fmt.Sprintf("%d of %d replicas that may have confirmed the last writes are there, and %d are needed to be sure",
		fenced, all, all-w+1)
}

// requiredConfirmations returns W: every confirmed write is on at least so many members. A lower number in the spec counts at once,
// before it is recorded: applications may already wait for that many only.
func (s Situation) requiredConfirmations() int {
	return int(max(1, min(s.Status.Replication.EffectiveMinReplicas, s.MinReplicas)))
}

// howToAllow says how to allow an unsafe promotion.
func (s Situation) howToAllow(purpose string) string {
	return fmt.Sprintf("%s, annotate this object with %s=%d", purpose, cachev1alpha1.RedisAllowUnsafePromotion, s.Status.Epoch)
}

func (s Situation) isUnsafeAllowed() bool {
	return s.UnsafePromotionEpoch == strconv.FormatInt(s.Status.Epoch, 10)
}

// recoverRedis starts again from what the nodes hold, when no process is left that
// ran with the master's history.
func (s Situation) recoverRedis(evidence string) Step {
	rep := s.Status.Replication
	if unconfirmed := s.Where(Node.IsUnconfirmed); len(unconfirmed) > 0 {
		return waitForConfirmation(unconfirmed)
	}
	start, missing := Step{Do: Promote, Reason: commonv1.ReasonRecovering, Evidence: evidence}, s.unansweredNodes()
	for _, p := range append([]cachev1alpha1.RedisProcess{rep.Master}, rep.SyncSet...) {
		m, ok := s.Find(p.Name)
		if !ok || m.PodUID != p.PodUID || m.Stopped || m.Answer == wire.Refused || m.Answer == wire.Reached {
			continue
		}
		if !s.isUnsafeAllowed() && m.Answer == wire.Silent && m.SilentFor < s.SilenceLimit {
			return Step{Do: Wait, Message: fmt.Sprintf("%s; %s does not answer", evidence, p.Name), RequeueAfter: 10 * ShortRequeue}
		}
		if !s.isUnsafeAllowed() {
			return Step{Do: Block, RequeueAfter: 10 * ShortRequeue, Message: fmt.Sprintf("%s; %s may hold the latest writes and cannot be asked. %s",
				evidence, p.Name, s.howToAllow("Waiting for it; to continue without what only it holds"))}
		}
		start.Unsafe = true
		missing = slices.DeleteFunc(missing, func(name string) bool { return name == p.Name })
	}
	if next, ok := s.promoteFromVolumes(start, missing); ok {
		return next
	}
	start.NodeNames, start.Reason = []string{s.Where(Node.Answers)[0].Name}, commonv1.ReasonDatasetLost
	return start
}
