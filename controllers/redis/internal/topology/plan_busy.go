package topology

import (
	"fmt"
	"slices"
	"strings"
	"time"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// ErroringSwitchoverWait is how long a switchover that a human has asked for waits for a master that answers with an error only,
// such as one that is busy with a script: as long as a pod has by default to end when it is deleted. Then the master is replaced
// as one that hangs, and what the script does is lost.
const ErroringSwitchoverWait = 30 * time.Second

// judgeErroringMaster judges a master that answers the operator with an error only. It lives, so it stays, however long that
// lasts and whether its replicas hear it or not: a server that is busy pings none of them.
func (s Situation) judgeErroringMaster(m Node) (masterState, string) {
	evidence := fmt.Sprintf("%s lives and answers %s", m.Name, m.ErrorCode)
	if m.ErroringFor >= ErroringSwitchoverWait && s.canReplaceErroring() {
		return masterLost, fmt.Sprintf("%s for %s, and annotation %s asks for %s", evidence, ErroringSwitchoverWait,
			cachev1alpha1.RedisSwitchover, *s.SwitchoverTo)
	}
	return masterUnsure, evidence
}

// canReplaceErroring reports whether a human asks for another master, and whether that one and enough others hold all that was
// confirmed. Otherwise the Redis would be left without a master.
func (s Situation) canReplaceErroring() bool {
	if s.SwitchoverTo == nil {
		return false
	}
	ready := s.Where(func(m Node) bool {
		return s.isMember(m) && m.Answers() && !m.Deleting && m.hasAllData(s.Status.Replication)
	})
	safe, _ := s.isSafe(ready)
	target, _ := s.Find(*s.SwitchoverTo)
	return safe && slices.Contains(NamesOf(ready), target.Name) && s.isWanted(target)
}

// isErroringMaster reports whether the recorded master lives and answers with an error only. It is replaced only if a human
// asks for that.
func (s Situation) isErroringMaster() bool {
	p := s.Status.Replication.Master
	m := s.RecordedMaster(p)
	return s.Ghost == nil && m.PodUID == p.PodUID && m.Answer == wire.ErrorReply
}

// erroringNodes are the nodes whose servers live and answer with an error only.
func (s Situation) erroringNodes() []Node {
	return s.Where(func(m Node) bool { return m.Answer == wire.ErrorReply })
}

// waitForErroring waits for servers that live and cannot be asked what they hold.
func waitForErroring(nodes []Node) Step {
	described := make([]string, 0, len(nodes))
	for _, m := range nodes {
		described = append(described, fmt.Sprintf("%s (%s)", m.Name, m.ErrorCode))
	}
	return Step{Do: Wait, RequeueAfter: 10 * ShortRequeue,
		Message: "these nodes live and answer with an error only, so they may be master or have the newest data: " +
			strings.Join(described, ", ")}
}
