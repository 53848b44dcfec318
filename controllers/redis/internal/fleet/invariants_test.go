package fleet

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// What must hold, with real servers. A master's death in all its forms:

func TestNothingConfirmedIsLostWhenTheMasterIsKilled(t *testing.T) {
	l := newLoopback(t, 3)
	l.write(0, 50)
	old := l.master()
	l.kill(old)
	l.until("another is master", func() bool { l.pass(); return l.master() != old })
	l.write(50, 100)
	l.start(old) // empty, and the master of no other
	l.heal()
	l.expectKeys(100)
	if l.redis.Status.LastFailover.Unsafe || l.redis.Status.Epoch != 2 {
		t.Errorf("%+v", l.redis.Status)
	}
}

func TestAnEmptyMasterThatComesBackWipesNoOne(t *testing.T) {
	l := newLoopback(t, 3)
	l.write(0, 50)
	old := l.master()
	l.kill(old)
	l.start(old) // before anybody has looked
	l.heal()
	l.expectKeys(50)
}

func TestAHungMasterIsReplacedAndComesBackAsAReplica(t *testing.T) {
	l := newLoopback(t, 3)
	l.write(0, 50)
	old := l.master()
	started := time.Now()
	l.signal(old, syscall.SIGSTOP)
	l.until("another is master", func() bool { l.pass(); return l.master() != old })
	if took := time.Since(started); took < (topology.Situation{Spec: config.Resolve(l.redis)}).LostMasterWait() {
		t.Errorf("replaced after %s, when it may yet take writes", took)
	}
	l.write(50, 100)
	l.heal() // its pod is deleted
	l.expectKeys(100)
}

func TestAMasterThatWakesInTimeStaysMaster(t *testing.T) {
	l := newLoopback(t, 3)
	l.write(0, 50)
	old := l.master()
	l.signal(old, syscall.SIGSTOP)
	l.until("the others are fenced", func() bool { return l.pass() == topology.Fence })
	l.signal(old, syscall.SIGCONT)
	l.heal()
	if l.master() != old || l.redis.Status.Epoch != 1 {
		t.Errorf("master %s, epoch %d", l.redis.Status.Master, l.redis.Status.Epoch)
	}
	l.write(50, 100)
	l.expectKeys(100)
}

func TestAHungMasterThatWakesLateTakesNoConfirmedWrite(t *testing.T) {
	l := newLoopback(t, 3)
	l.write(0, 50)
	old := l.master()
	c := l.client(old)
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	l.signal(old, syscall.SIGSTOP)
	l.until("another is master", func() bool { l.pass(); return l.master() != old })
	l.signal(old, syscall.SIGCONT)
	conn := c.Conn()
	defer func() { _ = conn.Close() }()
	if err := conn.Set(t.Context(), "stray", 1, 0).Err(); err == nil {
		if copies, err := conn.Wait(t.Context(), 1, 100*time.Millisecond).Result(); err == nil && copies > 0 {
			t.Error("two masters confirm writes")
		}
	}
	l.heal()
	l.expectKeys(50)
}

func TestAnIsolatedMasterStopsTakingWrites(t *testing.T) {
	l := newLoopback(t, 3)
	master := l.master()
	for _, n := range l.nodes {
		if n != master {
			l.signal(n, syscall.SIGSTOP)
			t.Cleanup(func() { _ = n.command.Process.Signal(syscall.SIGCONT) })
		}
	}
	started := time.Now()
	c := l.client(master)
	l.until("the master refuses", func() bool {
		err := c.Set(t.Context(), "k", 1, 0).Err()
		return err != nil && strings.HasPrefix(err.Error(), "NOREPLICAS")
	})
	// Two seconds after the lag at most, as the server counts; on a busy machine
	// all that can be said is whether it is our lag or the server's own.
	const ofServer = 10 * time.Second // min-replicas-max-lag, unset
	if took := time.Since(started); took >= ofServer {
		t.Errorf("after %s, though the lag is %s", took, config.Resolve(l.redis).MaxLag)
	}
}

// Planned moves.

func TestAPlannedMoveLosesNothingAndCopiesNothing(t *testing.T) {
	l := newLoopback(t, 3)
	l.write(0, 50)
	old := l.master()
	held, err := net.Dial("tcp", net.JoinHostPort(old.address, strconv.Itoa(wire.Port)))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := fmt.Fprintf(held, "AUTH %s\r\n", l.secrets.Published.Password)
		_, end := io.Copy(io.Discard, held)
		ended <- errors.Join(err, end)
	}()
	to := l.nodes[2]
	if to == old { // the first that was there
		to = l.nodes[1]
	}
	l.redis.Annotations = map[string]string{cachev1alpha1.RedisSwitchover: to.name}
	l.until("the wish is granted", func() bool { l.pass(); return l.master() == to })
	l.redis.Annotations = nil
	if got := l.info(to, "sync_full"); got != "0" {
		t.Errorf("%s full copies", got)
	}
	l.until("clients of the old master are sent away", func() bool { l.pass(); return len(ended) == 1 })
	l.heal()
	l.write(50, 100)
	l.expectKeys(100)
	if l.redis.Status.Epoch != 2 {
		t.Errorf("epoch %d", l.redis.Status.Epoch)
	}
}

func TestAMasterThatCannotWriteToItsDiskHandsOver(t *testing.T) {
	l := newLoopback(t, 3, func(r *cachev1alpha1.Redis) {
		r.Spec.Storage = &cachev1alpha1.RedisStorage{}
		r.Spec.Persistence = &cachev1alpha1.RedisPersistence{Mode: cachev1alpha1.RedisPersistRDB}
	})
	l.write(0, 50)
	old := l.master()
	limit := exec.Command("prlimit", "--pid", strconv.Itoa(old.command.Process.Pid), "--fsize=10")
	if err := limit.Run(); err != nil {
		t.Fatal(err)
	}
	// Refused while the save of a replica's full resync still runs.
	l.until("it saves", func() bool { return l.operator(old).Do(t.Context(), "BGSAVE").Err() == nil })
	l.until("another is master", func() bool { l.pass(); return l.master() != old })
	if why := l.redis.Status.LastFailover.Reason; why != commonv1.ReasonDiskError {
		t.Error(why)
	}
	l.kill(old)
	l.start(old) // with room again
	l.heal()
	l.write(50, 100)
	l.expectKeys(100)
}

func TestSizeTwoAndOne(t *testing.T) {
	l := newLoopback(t, 2)
	l.write(0, 50)
	old := l.master()
	l.kill(old)
	l.until("the replica serves alone", func() bool { l.pass(); return l.master() != old })
	c := l.client(l.master())
	l.until("it takes writes", func() bool { l.pass(); return c.Set(t.Context(), "0", 0, 0).Err() == nil })
	l.start(old)
	l.heal()
	l.write(50, 60)
	l.expectKeys(60)
}

// Passwords.

func TestAPasswordChangesAndTurnsNoOneAway(t *testing.T) {
	l := newLoopback(t, 2)
	l.write(0, 1) // from now on the replica counts
	held := l.client(l.master()).Conn()
	defer func() { _ = held.Close() }()
	used := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	login := func(password string) error {
		for _, n := range l.nodes {
			c := l.client(n)
			c.Options().Password = password
			if err := c.Ping(t.Context()).Err(); err != nil {
				return fmt.Errorf("%s: %w", n.name, err)
			}
		}
		return nil
	}
	used(held.Set(t.Context(), "k", 1, 0).Err())
	l.secrets = l.secrets.ChooseLogin("theirs", "new", fixture.Drawn)
	l.until("the nodes are sent the password", func() bool { return l.pass() == topology.SetPasswords })
	l.heal()
	used(errors.Join(login("app"), login("new")))

	l.secrets, _ = l.secrets.Publish(true).StartOverlap(fixture.Noon)
	l.secrets = l.secrets.RetireExpired(fixture.Noon.Add(config.PasswordOverlap))
	l.heal()
	used(login("new"))
	used(held.Set(t.Context(), "k", 2, 0).Err())
	if err := login("app"); err == nil || !strings.Contains(err.Error(), "WRONGPASS") {
		t.Errorf("the old one after its time: %v", err)
	}
}

// Hibernation.

// All data is there again, and the last master is master.
func TestASetWakesWithItsData(t *testing.T) {
	l := newLoopback(t, 3, func(r *cachev1alpha1.Redis) { r.Spec.Storage = &cachev1alpha1.RedisStorage{} })
	l.write(0, 50)
	last := l.master()
	l.redis.Spec.Hibernate = true
	l.until("it sleeps", func() bool { l.pass(); return l.redis.Spec.Hibernate && l.redis.Status.Replication == nil })
	for _, n := range l.nodes {
		l.signal(n, syscall.SIGTERM)
		_ = n.command.Wait()
	}
	l.heal() // who sleeps is at rest
	l.redis.Spec.Hibernate = false
	for _, n := range l.nodes {
		n.uid += types.UID("-again")
		if n != last {
			l.start(n)
		}
	}
	for range 20 {
		if l.pass() != topology.Wait {
			t.Fatal("the last master is not waited for")
		}
	}
	l.start(last)
	l.heal()
	if l.master() != last || l.redis.Status.LastFailover.Reason != commonv1.ReasonRecovering {
		t.Errorf("%+v", l.redis.Status.LastFailover)
	}
	l.expectKeys(50)
	l.write(50, 51)
}
