package fleet

import (
	"slices"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// What applications write to the servers of a loopback and read from them, and what those say of themselves.

// replyTimeout is how long a client waits for a reply: a server that syncs its files to a busy disk sends none until then.
const replyTimeout = time.Minute

func (l *loopback) client(n *localServer) *goredis.Client {
	c := goredis.NewClient(&goredis.Options{Addr: n.address + ":" + strconv.Itoa(wire.Port), Password: l.secrets.Published.Password,
		MaxRetries: -1, DialerRetries: 1, PoolSize: 1, DisableIdentity: true, ReadTimeout: replyTimeout, WriteTimeout: replyTimeout,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}})
	l.t.Cleanup(func() { _ = c.Close() })
	return c
}

// operator's own way to a server, and what it may ask.
func (l *loopback) operator(n *localServer) *goredis.Client {
	c := goredis.NewClient(&goredis.Options{Addr: n.address + ":" + strconv.Itoa(wire.Port), Username: wire.Operator,
		Password:   l.secrets.Operator,
		MaxRetries: -1, DisableIdentity: true, ReadTimeout: replyTimeout,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}})
	l.t.Cleanup(func() { _ = c.Close() })
	return c
}

// info is one field of a server's INFO, as the operator may read it.
func (l *loopback) info(n *localServer, field string) string {
	l.t.Helper()
	text, err := l.operator(n).Info(l.t.Context(), "everything").Result()
	if err != nil {
		l.t.Fatal(err)
	}
	for line := range strings.SplitSeq(text, "\r\n") {
		if name, value, _ := strings.Cut(line, ":"); name == field {
			return value
		}
	}
	l.t.Fatalf("INFO has no %s", field)
	return ""
}

// write so many keys to the master, each confirmed by a replica.
func (l *loopback) write(from, to int) {
	l.t.Helper()
	c := l.client(l.master()).Conn()
	defer func() { _ = c.Close() }()
	for n := from; n < to; n++ {
		for err := c.Set(l.t.Context(), strconv.Itoa(n), n, 0).Err(); err != nil; err = c.Set(l.t.Context(), strconv.Itoa(n), n, 0).Err() {
			if !strings.HasPrefix(err.Error(), "NOREPLICAS") { // they are being attached
				l.t.Fatal(err)
			}
			l.pass()
		}
		if copies, err := c.Wait(l.t.Context(), 1, time.Minute).Result(); err != nil || copies < 1 {
			l.t.Fatal(copies, err)
		}
	}
}

// number in a field of a server's INFO.
func (l *loopback) number(n *localServer, field string) int {
	l.t.Helper()
	value, err := strconv.Atoi(l.info(n, field))
	if err != nil {
		l.t.Fatal(err)
	}
	return value
}

// caughtUp returns once every replica has all that the master has written by now. Who has
// just been copied to waits up to a second for what was written since.
func (l *loopback) caughtUp() {
	l.t.Helper()
	written := l.number(l.master(), "master_repl_offset")
	for _, n := range l.nodes {
		if n != l.master() {
			l.until(n.name+" has all", func() bool { return l.number(n, "slave_repl_offset") >= written })
		}
	}
}

// expectKeys expects every key below n on every node.
func (l *loopback) expectKeys(n int) {
	l.t.Helper()
	l.caughtUp()
	for _, on := range l.nodes {
		if keys, err := l.client(on).DBSize(l.t.Context()).Result(); err != nil || keys != int64(n) {
			l.t.Errorf("%s holds %d keys of %d: %v", on.name, keys, n, err)
		}
	}
}

// linked reports whether a replica hears its master.
func (l *loopback) linked(replica *localServer) bool {
	l.t.Helper()
	return l.info(replica, "master_link_status") == "up"
}

// refusals are how often a master did not let somebody log in.
func (l *loopback) refusals(master *localServer) int {
	l.t.Helper()
	_, failed, _ := strings.Cut(l.info(master, "cmdstat_auth"), "failed_calls=")
	n, err := strconv.Atoi(failed)
	if err != nil {
		l.t.Fatal(err)
	}
	return n
}

// firstConfirmed is the first key of those: the ones below are written by the tests before.
const firstConfirmed = 50

// confirmed writes keys to a server as an application that asks for so many copies of each,
// and gives how many were reported to be safe: it stops at the first that is not. No pass is
// run meanwhile.
func (l *loopback) confirmed(on *localServer, to, copies int) int {
	l.t.Helper()
	c := l.client(on).Conn()
	defer func() { _ = c.Close() }()
	l.until(on.name+" takes writes", func() bool { return c.Set(l.t.Context(), strconv.Itoa(firstConfirmed), firstConfirmed, 0).Err() == nil })
	for n := firstConfirmed; n < to; n++ {
		if err := c.Set(l.t.Context(), strconv.Itoa(n), n, 0).Err(); err != nil {
			return n
		}
		if has, err := c.Wait(l.t.Context(), copies, 2*time.Second).Result(); err != nil || has < int64(copies) {
			return n
		}
	}
	return to
}

// missingKeys says which of the keys below n a server does not have.
func (l *loopback) missingKeys(on *localServer, n int) []string {
	l.t.Helper()
	keys := make([]string, 0, n)
	for i := range n {
		keys = append(keys, strconv.Itoa(i))
	}
	values, err := l.client(on).MGet(l.t.Context(), keys...).Result()
	if err != nil {
		l.t.Fatalf("%s: %s", on.name, err)
	}
	return slices.DeleteFunc(keys, func(key string) bool {
		i, _ := strconv.Atoi(key)
		return values[i] != nil
	})
}

// expectNoneLost fails the test where the master lacks a key that applications hold for safe.
func (l *loopback) expectNoneLost(n int) {
	l.t.Helper()
	if lost := l.missingKeys(l.master(), n); len(lost) > 0 {
		last := l.redis.Status.LastFailover
		l.t.Errorf("%s is master (%s, unsafe: %t) and lacks %d confirmed writes: %s", l.master().name, last.Reason, last.Unsafe,
			len(lost), strings.Join(lost, " "))
	}
}

// probe a server as its pod's readiness probe does, but wait longer for the reply.
func (l *loopback) probe(n *localServer) error {
	c := goredis.NewClient(&goredis.Options{Addr: n.address + ":" + strconv.Itoa(wire.Port), Username: wire.Probe, Password: "-",
		MaxRetries: -1, DisableIdentity: true, ReadTimeout: replyTimeout})
	defer func() { _ = c.Close() }()
	return c.Ping(l.t.Context()).Err()
}

// deleteKeys deletes the keys below n, and sees that a replica has deleted them.
func (l *loopback) deleteKeys(n int) {
	l.t.Helper()
	c := l.client(l.master()).Conn()
	defer func() { _ = c.Close() }()
	for i := range n {
		if err := c.Del(l.t.Context(), strconv.Itoa(i)).Err(); err != nil {
			l.t.Fatal(err)
		}
	}
	if copies, err := c.Wait(l.t.Context(), 1, time.Minute).Result(); err != nil || copies < 1 {
		l.t.Fatal(copies, err)
	}
}

// filed returns once every server's files have what it has.
func (l *loopback) filed() {
	l.t.Helper()
	l.heal()
	l.caughtUp()
	for _, n := range l.nodes {
		l.until(n.name+" has written its file", func() bool {
			return l.info(n, "aof_rewrite_in_progress")+l.info(n, "aof_rewrite_scheduled") == "00"
		})
	}
}

// answering returns once every server does.
func (l *loopback) answering() {
	l.t.Helper()
	for _, n := range l.nodes {
		s := wire.Open(n.address, l.secrets.Operator, nil, nil)
		defer s.Close()
		l.until(n.name+" answers", func() bool {
			s.Redial()
			v := s.Look(l.t.Context())
			return v.Answer == wire.Reached && !v.Loading
		})
	}
}
