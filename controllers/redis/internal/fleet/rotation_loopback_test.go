package fleet

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// laterClock is the clock of a machine, some time later.
type laterClock struct {
	clock.RealClock
	by time.Duration
}

func (l *laterClock) Now() time.Time                  { return l.RealClock.Now().Add(l.by) }
func (l *laterClock) Since(t time.Time) time.Duration { return l.Now().Sub(t) }

// login as a user on every server.
func (l *loopback) login(user, password string) error {
	var errs []error
	for _, n := range l.nodes {
		c := l.client(n)
		c.Options().Username, c.Options().Password = user, password
		if err := c.Ping(l.t.Context()).Err(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", n.name, err))
		}
	}
	return errors.Join(errs...)
}

// rotationStage passes until the stage of the rotation has started and nothing is left to do, then writes the Secrets.
func (l *loopback) rotationStage(name string, started func() bool) {
	l.t.Helper()
	l.until(name, func() bool {
		rest := l.pass() == topology.Idle
		l.secrets, _ = l.secrets.StartOverlap(l.running.Clock.Now())
		return rest && started()
	})
}

// The operator, the replicas and the backups get other passwords while an application writes. No link breaks, nothing restarts,
// a server that restarts with the files of the stage before is not locked out, and in the end no one logs in as before.
func TestARotationRefusesTheFormerPasswords(t *testing.T) {
	l := newLoopback(t, 3)
	later := &laterClock{}
	l.running.Clock = later
	l.write(0, 50)
	l.heal()
	held, intruder := l.client(l.master()).Conn(), l.operator(l.master()).Conn()
	defer func() { _, _ = held.Close(), intruder.Close() }()
	if err := intruder.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	former, master, links := l.secrets, l.master(), l.links()
	used := func(when string) {
		t.Helper()
		if err := held.Set(t.Context(), "k", when, 0).Err(); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	both := func(when string) {
		t.Helper()
		if err := errors.Join(l.login(wire.Operator, former.Operator), l.login(wire.Operator, l.secrets.Operator),
			l.login(wire.Operator, l.secrets.Rotation.Other.Operator),
			l.login(backup.RedisUser, former.Backup), l.login(backup.RedisUser, l.secrets.Backup),
			l.login(backup.RedisUser, l.secrets.Rotation.Other.Backup)); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}

	l.secrets = l.secrets.StartRotation("now", rand.Text)
	l.rotationStage("both are accepted", func() bool { return !l.secrets.Rotation.Until.IsZero() })
	both("before the next are used")
	used("first stage")
	l.mount(l.replica())
	later.by += config.FilesOverlap + time.Second
	l.rotationStage("the next are used", func() bool { return l.secrets.Rotation.Former && !l.secrets.Rotation.Until.IsZero() })
	if l.secrets.Operator == former.Operator || l.secrets.Replication == former.Replication || l.secrets.Backup == former.Backup {
		t.Errorf("got %+v", l.secrets)
	}
	both("while the former are still accepted")
	used("second stage")
	if after := l.links(); after != links {
		t.Errorf("%s, then %s", links, after)
	}
	l.kill(l.replica())
	l.start(l.replica())
	l.rotationStage("a server that restarted is attached", func() bool { return l.linked(l.replica()) })

	later.by += config.FormerOverlap + time.Second
	l.rotationStage("the former are dropped", func() bool { return !l.secrets.Rotation.IsUnderWay() })
	l.heal()
	used("after it")
	for user, password := range map[string]string{wire.Operator: former.Operator, backup.RedisUser: former.Backup,
		wire.Replication: former.Replication} {
		if err := l.login(user, password); err == nil || strings.Count(err.Error(), "WRONGPASS") != len(l.nodes) {
			t.Errorf("%s by the former password: %v", user, err)
		}
	}
	if err := intruder.Ping(t.Context()).Err(); err == nil {
		t.Error("a connection that was made with the former password stays")
	}
	l.expectNewLogins(former)
	if l.master() != master || l.redis.Status.Epoch != 1 {
		t.Errorf("master %s instead of %s, epoch %d", l.redis.Status.Master, master.name, l.redis.Status.Epoch)
	}
	l.command(l.master(), "CLIENT", "KILL", "TYPE", "replica")
	for _, n := range l.without(l.master()) {
		l.until(n.name+" has come back by the login that it was given", func() bool { return l.linked(n) })
	}
	l.heal()
	l.expectKeys(51)
}

// expectNewLogins expects that the master accepts no replica by a login that is derived from the former password.
func (l *loopback) expectNewLogins(former config.Credentials) {
	l.t.Helper()
	rep := l.redis.Status.Replication
	for _, p := range rep.SyncSet {
		for name, derived := range map[string]struct {
			from config.Credentials
			want bool
		}{"former": {former, false}, "new": {l.secrets, true}} {
			as := derived.from.LoginOf(p, rep.Master.RunID)
			c := l.client(l.master())
			c.Options().Username, c.Options().Password = as.User, as.Password
			if err := c.Ping(l.t.Context()).Err(); (err == nil) != derived.want {
				l.t.Errorf("%s by the %s login: %v", as.User, name, err)
			}
		}
	}
}

// While a server cannot be asked, the next passwords are not used: it may know only the former ones.
func TestARotationWaitsForEveryServer(t *testing.T) {
	l := newLoopback(t, 3)
	later := &laterClock{}
	l.running.Clock = later
	l.write(0, 1)
	l.heal()
	l.secrets = l.secrets.StartRotation("now", rand.Text)
	l.rotationStage("both are accepted", func() bool { return !l.secrets.Rotation.Until.IsZero() })
	away := l.replica()
	l.kill(away)
	later.by += config.FilesOverlap + time.Second
	for range 20 {
		l.pass()
	}
	if l.secrets.Rotation.Former {
		t.Fatal("the next passwords are used although a server does not answer")
	}
	l.start(away) // with the files from before the rotation
	l.rotationStage("the next are used", func() bool { return l.secrets.Rotation.Former })
	if err := l.login(wire.Operator, l.secrets.Operator); err != nil {
		t.Error(err)
	}
}
