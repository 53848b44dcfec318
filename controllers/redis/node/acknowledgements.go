package node

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	// acknowledgeInterval is how often a replica does so (REPLCONF ACK of replicationCron).
	acknowledgeInterval = time.Second
	// maxMessage is how many times in a row it is told that there is nothing new.
	maxMessage = 10
)

// acknowledgements of a master's replicas, by their addresses, when it was last asked.
type acknowledgements struct {
	// usual is how many times in a row there may be nothing new.
	usual int
	last  map[string]acknowledgement
}

// newAcknowledgements of a master that is asked every interval.
func newAcknowledgements(interval time.Duration) *acknowledgements {
	return &acknowledgements{usual: int(max(1, (acknowledgeInterval+interval-1)/interval)), last: map[string]acknowledgement{}}
}

type acknowledgement struct {
	offset  int64
	without int // so many times in a row there was nothing new, though there was more to acknowledge
}

// take in a master's answer to ROLE, and tell which replicas acknowledge nothing: the text differs
// each time while that is to be told. There is always something to acknowledge, see repl-ping-replica-period.
func (a *acknowledgements) take(words []string) string {
	before := maps.Clone(a.last)
	clear(a.last)
	var silent []string
	for address, bytes := range behind(words) {
		now := acknowledgement{offset: number(words[1]) - bytes}
		if last, met := before[address]; met && last.offset == now.offset && bytes > 0 {
			now.without = min(last.without+1, a.usual+maxMessage)
		}
		if a.last[address] = now; now.without > a.usual {
			silent = append(silent, fmt.Sprintf(", %s silent %d", address, now.without))
		}
	}
	slices.Sort(silent)
	return strings.Join(silent, "")
}
