package fault

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Server is one redis-server as it was last seen.
type Server struct {
	Pod     string
	Address string
	Leaving bool // its pod is asked to go
	Info

	uid types.UID
}

// Info is what a server says of itself; zero when it says nothing.
type Info struct {
	RunID     string // of the process
	ReplID    string // of the history of its data
	Master    bool
	Follows   string // address
	LinkUp    bool   // it hears whom it follows
	Loading   bool
	Keys      int64
	FullSyncs int64 // full copies that it has given
}

// parseInfo reads the answer to INFO.
func parseInfo(text string) Info {
	fields := map[string]string{}
	info := Info{}
	for line := range strings.SplitSeq(text, "\n") {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		fields[name] = value
		if keys, ok := strings.CutPrefix(value, "keys="); ok && strings.HasPrefix(name, "db") {
			keys, _, _ = strings.Cut(keys, ",")
			info.Keys += integer(keys)
		}
	}
	info.RunID, info.ReplID = fields["run_id"], fields["master_replid"]
	info.Master, info.Follows = fields["role"] == "master", fields["master_host"]
	info.LinkUp = fields["master_link_status"] == "up" && fields["master_sync_in_progress"] == "0"
	info.Loading = fields["loading"] == "1" || fields["async_loading"] == "1"
	info.FullSyncs = integer(fields["sync_full"])
	return info
}

func integer(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// IsFullyReplicated reports whether a set has that size and one master, whose history all
// others share and hear.
func IsFullyReplicated(set []Server, size int) bool {
	i := slices.IndexFunc(set, func(s Server) bool { return s.Master })
	if len(set) != size || i < 0 {
		return false
	}
	master := set[i]
	return !slices.ContainsFunc(set, func(s Server) bool {
		follows := !s.Master && s.Follows == master.Address && s.LinkUp && s.ReplID == master.ReplID
		return s.RunID == "" || s.Leaving || s.Loading || !follows && s.RunID != master.RunID
	})
}

// hasData is true for a server whose data is the set's.
func (s Server) hasData() bool { return s.RunID != "" && !s.Loading && (s.Master || s.LinkUp) }

func (s Server) String() string {
	role := "follows " + s.Follows
	switch {
	case s.RunID == "":
		return s.Pod + " silent"
	case s.Loading:
		role = "loads"
	case s.Master:
		role = "master"
	case s.LinkUp:
		role = "hears " + s.Follows
	}
	if s.Leaving {
		role += ", leaving"
	}
	return s.Pod + " " + s.RunID[:min(6, len(s.RunID))] + " " + role
}
