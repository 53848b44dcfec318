package topology

import "strings"

// waitForConfirmation waits for servers that were not asked, because the API server did not confirm their addresses in time. That
// is no sign of the servers: one that is dead is recognized once its address is confirmed, or by a connection that is refused.
func waitForConfirmation(nodes []Node) Step {
	return Step{Do: Wait, RequeueAfter: 10 * ShortRequeue, Message: unconfirmedMessage(nodes)}
}

func unconfirmedMessage(nodes []Node) string {
	return "the API server did not confirm in time that these pods have their addresses, so their servers were not asked: " +
		strings.Join(NamesOf(nodes), ", ")
}

// IsUnconfirmed reports whether any server could not be asked for that reason: then less is known of the Redis than before.
func (s Situation) IsUnconfirmed() bool { return s.Count(Node.IsUnconfirmed) > 0 }
