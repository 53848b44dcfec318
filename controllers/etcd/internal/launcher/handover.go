package launcher

import (
	"bytes"
	"time"
)

// metricsAddress is where the server of the same pod serves its metrics.
const metricsAddress = "127.0.0.1:2381"

// awaitHandover returns when the server of this pod does not lead, or when the time is over. A member that is asked to go serves
// on until the operator has moved the lead to another: that takes a tenth of the time of an election.
func awaitHandover(address string, limit time.Duration) {
	for end := time.Now().Add(limit); time.Now().Before(end) && leads(address); { //nolint:forbidigo // a program of its own
		time.Sleep(pollInterval) //nolint:forbidigo // the server does not notify when it hands the lead on
	}
}

// leads reports whether the server says that it leads. One that does not answer has nothing to hand on.
func leads(address string) bool {
	metrics, err := ask("http://"+address+"/metrics", nil)
	return err == nil && bytes.Contains(metrics, []byte("\netcd_server_is_leader 1\n"))
}
