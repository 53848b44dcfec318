package wire

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/untrusted"
)

// maxAttached is how many of a master's replicas are listed: a set has at most 8, and beyond that it matters only
// that there are others.
const maxAttached = 64

// These patterns bound fields that are passed on. Redis draws the ids by getRandomHexChars in its util.c.
// Somebody may have set by hand a name for a server to follow, or to announce itself by.
var (
	idPattern      = regexp.MustCompile(`^[0-9a-f]{40}$`)
	versionPattern = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+~_-]{0,31}$`)
	hostPattern    = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._-]{0,252}$`)
)

// isHost reports whether the text is an address or a name of a host.
func isHost(text string) bool {
	address, err := netip.ParseAddr(text)
	return err == nil && address.Zone() == "" || hostPattern.MatchString(text)
}

// infoFields are the fields of INFO that are read, and what each must look like; "" is always valid.
var infoFields = func() map[string]fieldFormat {
	id := fieldFormat{idPattern.MatchString, "40 hexadecimal digits"}
	version := fieldFormat{versionPattern.MatchString, "a version"}
	host := fieldFormat{isHost, "an address or a name of a host"}
	number := fieldFormat{isNumber, "a number"}
	word := fieldFormat{func(text string) bool { return len(text) <= 32 }, "a word"}
	role := fieldFormat{func(text string) bool { return text == "master" || text == "slave" }, "master or slave"}
	fields := map[string]fieldFormat{"run_id": id, "master_replid": id, "master_replid2": id,
		"redis_version": version, "valkey_version": version, "master_host": host, "role": role}
	for _, name := range []string{"master_last_io_seconds_ago", "master_link_down_since_seconds", "master_repl_offset", "slave_repl_offset",
		"second_repl_offset", "rdb_last_save_time"} {
		fields[name] = number
	}
	for _, name := range []string{"loading", "async_loading", "master_link_status", "master_sync_in_progress", "repl_backlog_active",
		"aof_enabled",
		"aof_rewrite_in_progress", "aof_rewrite_scheduled", "aof_last_bgrewrite_status", "rdb_bgsave_in_progress"} {
		fields[name] = word
	}
	return fields
}()

// requiredFields are the fields that every server fills in, in every role.
var requiredFields = []string{"run_id", "role", "master_replid"}

// fieldFormat is what a field must look like: a test, and a description of what passes it.
type fieldFormat struct {
	matches     func(string) bool
	description string
}

func isNumber(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil
}

// stateOnline is the state of a replica that has all of its master's data (SLAVE_STATE_ONLINE of replication.c).
const stateOnline = "online"

// parse reads the answer to INFO, https://redis.io/docs/latest/commands/info/. An error names a field
// that has a value no server gives, or none.
func parse(info string) (View, error) {
	fields, v := map[string]string{}, View{Answer: Reached}
	for line := range strings.SplitSeq(info, "\n") {
		name, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			continue
		}
		want, known := infoFields[name]
		switch {
		case known && value != "" && !want.matches(value):
			return View{}, unreadablef("%s in INFO is %s, not %s", name, untrusted.Quote(value), want.description)
		case known:
			fields[name] = value
		case strings.HasPrefix(name, "db") && strings.HasPrefix(value, "keys="):
			v.Keys += parseNumber(pairValue(value, "keys"))
		case strings.HasPrefix(name, "slave") && strings.HasPrefix(value, "ip="):
			ip := pairValue(value, "ip")
			if !isHost(ip) {
				return View{}, unreadablef("%s in INFO is at %s, not %s", untrusted.Quote(name), untrusted.Quote(ip),
					infoFields["master_host"].description)
			}
			if len(v.Attached) < maxAttached {
				v.Attached = append(v.Attached, ip)
				if pairValue(value, "state") != stateOnline {
					v.Copying = append(v.Copying, ip)
				}
			}
		}
	}
	for _, name := range requiredFields {
		if fields[name] == "" {
			return View{}, unreadablef("INFO has no %s", name)
		}
	}
	fillView(&v, fields)
	return v, nil
}

func fillView(v *View, fields map[string]string) {
	v.RunID = fields["run_id"]
	v.Version = serverVersion(fields)
	v.Loading = fields["loading"] == "1" || fields["async_loading"] == "1"
	v.Master = fields["role"] == "master"
	v.MasterHost = fields["master_host"]
	v.LinkUp = fields["master_link_status"] == "up"
	v.Syncing = fields["master_sync_in_progress"] == "1"
	if v.LastIO = time.Duration(parseNumber(fields["master_last_io_seconds_ago"])) * time.Second; !v.LinkUp {
		v.LastIO = time.Duration(parseNumber(fields["master_link_down_since_seconds"])) * time.Second
	}
	v.ReplID = fields["master_replid"]
	v.Pinned = fields["repl_backlog_active"] == "1"
	v.AOF = fields["aof_enabled"] == "1"
	v.Rewriting = fields["aof_rewrite_in_progress"] == "1" || fields["aof_rewrite_scheduled"] == "1"
	v.Rewritten = fields["aof_last_bgrewrite_status"] == "ok"
	v.Saving = fields["rdb_bgsave_in_progress"] == "1"
	v.SavedAt = parseNumber(fields["rdb_last_save_time"])
	// A fenced server that was restarted has its place in history only here.
	v.Offset = parseNumber(fields["slave_repl_offset"])
	if v.Master {
		v.Offset = parseNumber(fields["master_repl_offset"])
	}
	if before := parseNumber(fields["second_repl_offset"]); before > 0 { // the first offset that it does not have
		v.FormerReplID, v.FormerOffset = fields["master_replid2"], before-1
	}
}

// serverVersion prefers Valkey's own version to that of the Redis that it is compatible with.
func serverVersion(fields map[string]string) string {
	if own := fields["valkey_version"]; own != "" {
		return own
	}
	return fields["redis_version"]
}

// pairValue returns the value of a name in "a=1,b=2".
func pairValue(text, name string) string {
	for item := range strings.SplitSeq(text, ",") {
		if value, is := strings.CutPrefix(item, name+"="); is {
			return value
		}
	}
	return ""
}

func parseNumber(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}
