package wire

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	// acknowledgeInterval is how often a replica acknowledges (REPLCONF ACK of replicationCron).
	acknowledgeInterval = time.Second
	// maxSilentReports is how many times in a row a watch reports that a replica acknowledges nothing new.
	maxSilentReports = 10
)

// acknowledgements are those that a master had from its replicas, by address, when it was last asked.
type acknowledgements struct {
	// tolerated is how many times in a row a replica may have acknowledged nothing new.
	tolerated int
	last      map[string]acknowledgement
}

// newAcknowledgements returns none yet, for a master that is asked every interval.
func newAcknowledgements(interval time.Duration) *acknowledgements {
	return &acknowledgements{tolerated: int(max(1, (acknowledgeInterval+interval-1)/interval)), last: map[string]acknowledgement{}}
}

type acknowledgement struct {
	offset    int64
	unchanged int // how many times in a row there was nothing new, though there was more to acknowledge
}

// update takes in a master's answer to ROLE and returns which replicas acknowledge nothing: while that is to be
// reported, the text differs each time. There is always something to acknowledge, see repl-ping-replica-period.
func (a *acknowledgements) update(words []string) string {
	before := maps.Clone(a.last)
	clear(a.last)
	var silent []string
	for address, bytes := range replicaLag(words) {
		now := acknowledgement{offset: parseNumber(words[1]) - bytes}
		if last, met := before[address]; met && last.offset == now.offset && bytes > 0 {
			now.unchanged = min(last.unchanged+1, a.tolerated+maxSilentReports)
		}
		if a.last[address] = now; now.unchanged > a.tolerated {
			silent = append(silent, fmt.Sprintf(", %s silent %d", address, now.unchanged))
		}
	}
	slices.Sort(silent)
	return strings.Join(silent, "")
}
