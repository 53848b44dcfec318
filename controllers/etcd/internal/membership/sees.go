package membership

import (
	"fmt"
	"strings"
)

// Sees says what keeps the members, and the pod of a backup, from being as they should be: for a wait that takes long, which by itself
// says only what it waits for.
func (s Situation) Sees() string {
	var seen []string
	for _, m := range s.Members {
		if what := m.sees(); what != "" {
			seen = append(seen, what)
		}
	}
	for _, f := range []Fetch{s.Fetch, s.Next} {
		if what := f.sees(); what != "" {
			seen = append(seen, what)
		}
	}
	if len(seen) == 0 {
		return "all members answer and know a leader"
	}
	return strings.Join(seen, "; ")
}

// sees says what keeps one member from being healthy; nothing if it is.
func (m Member) sees() string {
	switch {
	case m.IsHealthy() && !m.Pod.Deleting || m.Record == nil && m.Pod.UID == "":
		return ""
	case m.Record == nil:
		return "pod " + m.Name + " is of no recorded member"
	case m.Pod.UID == "":
		return m.Name + " has no pod"
	case m.Pod.Deleting:
		return "pod " + m.Name + " is being deleted"
	case m.Pod.Earlier != nil:
		return m.Name + " finds an earlier state of its data"
	case m.Pod.LostData != "":
		return m.Name + " does not find its data"
	case m.Pod.Foreign != "":
		return m.Name + " finds the data of another cluster or member"
	case !m.Pod.HasRun:
		return "the container of pod " + m.Name + " has not started"
	case m.Pod.Stopped:
		return "the container of pod " + m.Name + " has ended"
	}
	return m.seesServer()
}

// seesServer says what keeps a server that runs from being a healthy member.
func (m Member) seesServer() string {
	switch {
	case m.Pod.Permit == "":
		return m.Name + " may not start yet"
	case m.View.LockedOut:
		return m.Name + " does not accept the operator's login"
	case m.View.Waits:
		return m.Name + " runs and has seen no majority since it started"
	case m.View.Answered:
		return m.Name + " answers and knows no leader"
	}
	return "the container of pod " + m.Name + " runs, and its etcd does not answer"
}

// sees says what keeps a pod from handing out a backup; nothing if it does, or there is none.
func (f Fetch) sees() string {
	switch {
	case f.UID == "":
		return ""
	case f.Deleting:
		return "the former pod of the backup is being deleted"
	case f.Error != "":
		return fmt.Sprintf("the backup could not be fetched, %d times: %s", f.Attempts, f.Error)
	case f.Item == nil:
		return "the pod of the backup has not reported a result"
	case f.Address == "":
		return "the pod of the backup has no address"
	}
	return ""
}
