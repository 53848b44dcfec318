package launcher

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/launcher/wal"
)

// earlierState is the termination message of a start on an earlier state: the data directory, the last entry of its log, and one that it
// had.
const earlierState = "mainstay: the data is an earlier state: the log of %s ends at entry %d of term %d, and had entry %d of term %d"

// earlierStateError is such a state.
type earlierStateError struct {
	data     string
	end, had wal.End
}

func (e earlierStateError) Error() string {
	return fmt.Sprintf(earlierState, e.data, e.end.Index, e.end.Term, e.had.Index, e.had.Term)
}

// ParseEarlierState reads from a termination message whose log ends where. It is not ok for another message.
func ParseEarlierState(message string) (data string, end wal.End, ok bool) {
	var had wal.End
	n, err := fmt.Sscanf(message, earlierState, &data, &end.Index, &end.Term, &had.Index, &had.Term)
	return data, end, n == 5 && err == nil
}

// checkLog returns an earlierStateError if the member's log ends before an entry that it had on the disk. Its vote may have confirmed
// what is missing: under its ID it could help to choose a leader that lacks this, too. What is not known to be missing does not keep a
// member from starting.
func checkLog(permit Permit, volume string) error {
	if permit.Log == nil {
		return nil
	}
	end, err := wal.ReadEnd(volume + "/" + permit.Data + "/member/wal")
	if err != nil {
		_, _ = io.WriteString(os.Stderr, fmt.Sprintf("mainstay: it is not known whether the log still has %s: %s\n", permit.Log,
			strings.ReplaceAll(err.Error(), "\n", " ")))
		return nil
	}
	if end.IsBelow(*permit.Log) {
		return earlierStateError{permit.Data, end, *permit.Log}
	}
	return nil
}
