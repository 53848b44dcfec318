package wire

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/untrusted"
)

// checkRole returns an error for an answer that no server of ours gives, so that such an answer reaches
// neither a metric nor a log as it is.
func checkRole(words []string) error {
	var hosts []string
	switch {
	case len(words) >= 2 && words[0] == "master":
		for i := 2; i < len(words); i += 3 {
			hosts = append(hosts, words[i])
		}
	case len(words) == 5 && words[0] == "slave":
		hosts = words[1:2]
	default:
		return unreadablef("ROLE is %s, neither that of a master nor that of a replica", untrusted.Quote(strings.Join(words, " ")))
	}
	for _, host := range hosts {
		if !isHost(host) {
			return unreadablef("ROLE names %s, which is neither an address nor a name of a host", untrusted.Quote(host))
		}
	}
	return nil
}

// describeRole puts an answer into words, and leaves out what changes by itself: offsets, and the
// attempts of a fenced server to reach its master.
func describeRole(words []string) string {
	if words[0] == "master" {
		return "master of " + strings.Join(slices.Sorted(maps.Keys(replicaLag(words))), " ")
	}
	host, state := words[1], words[3]
	if host == FenceHost {
		return "fenced"
	}
	return host + " " + strconv.FormatBool(state == "connected")
}

// replicaLag reads from a master's answer how many bytes each replica is behind, by address. The answer is
// "master", its offset, then the address, port and offset of each replica, also of one that was not asked to attach.
func replicaLag(words []string) map[string]int64 {
	if len(words) < 2 || words[0] != "master" {
		return nil
	}
	bytes := map[string]int64{}
	for i := 2; i+2 < len(words) && len(bytes) < maxAttached; i += 3 {
		bytes[words[i]] = max(0, parseNumber(words[1])-parseNumber(words[i+2]))
	}
	return bytes
}
