package wire

import (
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// field returns a field of the server's INFO; "" for one that it does not have yet.
func (p *process) field(t *testing.T, name string) string {
	t.Helper()
	info, err := p.client.Info(t.Context(), "everything").Result()
	must(t, err)
	for line := range strings.SplitSeq(info, "\r\n") {
		if key, value, _ := strings.Cut(line, ":"); key == name {
			return value
		}
	}
	return ""
}

// user returns a user's line in the server's ACL list; "" when it has none of that name.
func (p *process) user(t *testing.T, name string) string {
	t.Helper()
	users, err := p.client.ACLList(t.Context()).Result()
	must(t, err)
	i := slices.IndexFunc(users, func(line string) bool { return strings.HasPrefix(line, "user "+name+" ") })
	if i < 0 {
		return ""
	}
	return users[i]
}

// delay returns the delay before a full copy, in seconds.
func (p *process) delay(t *testing.T) string {
	t.Helper()
	values, err := p.client.ConfigGet(t.Context(), copyDelay).Result()
	must(t, err)
	return values[copyDelay]
}

// A server that was promoted cold takes another replication ID with its first replica, unless
// it was pinned before.
func TestPinKeepsTheHistory(t *testing.T) {
	for _, pinned := range []bool{false, true} {
		t.Run(strconv.FormatBool(pinned), func(t *testing.T) {
			master, replica := start(t), start(t)
			must(t, master.Promote(t.Context(), 0))
			if master.Look(t.Context()).Pinned {
				t.Error("it is pinned from its start on")
			}
			if pinned {
				must(t, master.Pin(t.Context()))
			}
			before := master.Look(t.Context())
			if before.Pinned != pinned {
				t.Errorf("got %+v", before)
			}
			replica.follow(t, master)
			after := master.Look(t.Context())
			if same := after.ReplID == before.ReplID; same != pinned || !after.Pinned || replica.Look(t.Context()).ReplID != after.ReplID {
				t.Errorf("it had the history %s, and has %s", before.ReplID, after.ReplID)
			}
		})
	}
}

// Pinning copies nothing and leaves nothing behind, also when replicas come and go and when it
// is done again.
func TestPinLeavesNothingBehind(t *testing.T) {
	p := start(t)
	must(t, p.Promote(t.Context(), 0))
	must(t, p.Pin(t.Context()))
	first := p.Look(t.Context())
	for range 100 {
		must(t, p.Pin(t.Context()))
	}
	eventually(t, "the last attachment is over", func() bool { return p.field(t, "connected_slaves") == "0" })
	if now := p.Look(t.Context()); now.ReplID != first.ReplID {
		t.Errorf("its history was %s and is %s", first.ReplID, now.ReplID)
	}
	if forks := p.field(t, "total_forks"); forks != "0" || p.delay(t) != "0" {
		t.Errorf("%s forks, and a delay of %s s before the next copy", forks, p.delay(t))
	}
	if login := p.user(t, Replication); !strings.Contains(login, " off ") || strings.Contains(login, "#") ||
		strings.Contains(login, "nopass") {
		t.Errorf("the login is left open: %s", login)
	}
}

// attach makes the server a replica that logs in to the master by that login.
func (p *process) attach(t *testing.T, master *process, as Login) {
	t.Helper()
	must(t, p.do(t.Context(), "CONFIG", "SET", "masteruser", as.User, "masterauth", as.Password))
	host, port, _ := net.SplitHostPort(master.hostport)
	must(t, p.do(t.Context(), "REPLICAOF", host, port))
}

// replicas returns the ids of the replicas' connections to the master, by user.
func (p *process) replicas(t *testing.T) map[string]string {
	t.Helper()
	list, err := p.client.Do(t.Context(), "CLIENT", "LIST", "TYPE", "replica").Text()
	must(t, err)
	found := map[string]string{}
	for line := range strings.SplitSeq(strings.TrimSpace(list), "\n") {
		one := map[string]string{}
		for word := range strings.FieldsSeq(line) {
			key, value, _ := strings.Cut(word, "=")
			one[key] = value
		}
		found[one["user"]] = one["id"]
	}
	delete(found, "")
	return found
}

func TestAdmitCutsWhoIsNotAdmittedAndNoOneElse(t *testing.T) {
	master, stays, goes := start(t), start(t), start(t)
	users := []string{"one", "two", "three"}
	one, two := Login{"one", "first"}, Login{"two", "second"}
	must(t, master.Promote(t.Context(), 0))
	must(t, master.Admit(t.Context(), users, []Login{one, two}, false))
	stays.attach(t, master, one)
	goes.attach(t, master, two)
	linked := func(p *process) func() bool { return func() bool { return p.Look(t.Context()).LinkUp } }
	eventually(t, "both are in sync", func() bool { return linked(stays)() && linked(goes)() })
	before := master.replicas(t)

	must(t, master.Admit(t.Context(), users, []Login{one}, false))
	if now := master.replicas(t); len(now) != 1 || now["one"] != before["one"] {
		t.Errorf("%v are connected of %v", now, before)
	}
	refused := master.field(t, "cmdstat_auth")
	eventually(t, "the other is refused", func() bool { return master.field(t, "cmdstat_auth") != refused && !linked(goes)() })
	if login := master.user(t, "two"); !strings.Contains(login, " off ") {
		t.Errorf("the other may log in again: %s", login)
	}

	must(t, master.Admit(t.Context(), users, []Login{one, two}, false))
	eventually(t, "the other is let in again", linked(goes))
	if now := master.replicas(t); len(now) != 2 || now["one"] != before["one"] {
		t.Errorf("%v are connected, and were %v", now, before)
	}
	if full, partial := master.field(t, "sync_full"), master.field(t, "sync_partial_ok"); full != "2" || partial != "1" {
		t.Errorf("%s full copies and %s partial ones", full, partial)
	}
}

// Only the login of its very process admits a replica; the user of the servers' files does not.
func TestAdmitKnowsProcesses(t *testing.T) {
	master, replica := start(t), start(t)
	must(t, master.do(t.Context(), "ACL", "SETUSER", Replication, "reset", "on", ">common", "+ping", "+psync", "+replconf"))
	must(t, master.Promote(t.Context(), 0))
	must(t, master.Admit(t.Context(), []string{"one"}, []Login{{"one", "of this process"}}, false))
	for _, wrong := range []Login{{"one", "of the process before"}, {Replication, "common"}} {
		failed := master.field(t, "cmdstat_auth")
		replica.attach(t, master, wrong)
		eventually(t, "it is refused", func() bool { return master.field(t, "cmdstat_auth") != failed })
		if found := master.replicas(t); len(found) > 0 {
			t.Errorf("%v is let in", found)
		}
	}
	replica.attach(t, master, Login{"one", "of this process"})
	eventually(t, "it is let in", func() bool { return replica.Look(t.Context()).LinkUp })
}
