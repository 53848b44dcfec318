package fleet

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
	"github.com/mainstay-operator/mainstay-operator/test/hostile"
)

// startsWithBackup sets name one.
func startsWithBackup(r *cachev1alpha1.Redis) {
	r.Spec.Bootstrap = &cachev1alpha1.RedisBootstrap{Backup: commonv1.BackupReference{Name: "nightly"}}
}

// patient sets take no silent master for lost within a test: a busy machine is none of these tests' business.
func patient(r *cachev1alpha1.Redis) {
	lenient(r)
	r.Spec.Failover = &cachev1alpha1.RedisFailureDetection{FailureThreshold: ptr.To[int32](20)}
}

func onVolumes(r *cachev1alpha1.Redis) { r.Spec.Storage = &cachev1alpha1.RedisStorage{} }

// setSource starts the server that serves the backup, by the command that its pod has, or ends it.
func (l *loopback) setSource(wanted bool) {
	l.t.Helper()
	if !wanted {
		l.kill(l.source)
		l.source = nil
		return
	}
	n := &localServer{name: config.Resolve(l.redis).RestoreName(), address: l.address(), dir: l.t.TempDir()}
	n.uid = types.UID("uid-" + n.address)
	data, err := os.ReadFile(l.dump)
	if err = errors.Join(err, os.WriteFile(filepath.Join(n.dir, filepath.Base(backup.DataFile)), data, 0o600)); err != nil {
		l.t.Fatal(err)
	}
	l.mount(n)
	here := strings.NewReplacer(backup.ScratchDir, n.dir, config.FilesDir, n.dir)
	command := config.Resolve(l.redis).RestoreCommand()
	for i := range command {
		command[i] = here.Replace(command[i])
	}
	n.command = exec.Command(command[0], append(command[1:], "--bind", n.address)...)
	if err := n.command.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { l.kill(n) })
	l.source = n
}

// addSource shows the server that serves the backup to a pass.
func (l *loopback) addSource(f *Fleet) {
	if l.source == nil || l.redis.Status.Restore == nil {
		return
	}
	f.Source = &topology.Source{Item: "item", Node: topology.Node{Name: l.source.name, PodUID: l.source.uid, Address: l.source.address}}
	f.sourceServer = wire.Open(l.source.address, l.secrets.Operator, nil, nil)
}

// dumpOf is a file that a server of its own has written, with so many keys.
func (l *loopback) dumpOf(keys int) string {
	l.t.Helper()
	n := &localServer{address: l.address(), dir: l.t.TempDir()}
	n.command = exec.Command("redis-server", "--bind", n.address, "--dir", n.dir, "--protected-mode", "no", "--save", "")
	if err := n.command.Start(); err != nil {
		l.t.Fatal(err)
	}
	defer l.kill(n)
	c := goredis.NewClient(&goredis.Options{Addr: n.address + ":" + strconv.Itoa(wire.Port), DisableIdentity: true})
	defer func() { _ = c.Close() }()
	l.until("a server for the dump is there", func() bool { return c.Ping(l.t.Context()).Err() == nil })
	for i := range keys {
		if err := c.Set(l.t.Context(), strconv.Itoa(i), i, 0).Err(); err != nil {
			l.t.Fatal(err)
		}
	}
	if err := c.Save(l.t.Context()).Err(); err != nil {
		l.t.Fatal(err)
	}
	return filepath.Join(n.dir, "dump.rdb")
}

// restoredLoopback is a set that has started with a backup of so many keys, and is at rest.
func restoredLoopback(t *testing.T, keys int, with ...func(*cachev1alpha1.Redis)) *loopback {
	t.Helper()
	l := startLoopback(t, 3, append(with, startsWithBackup, patient)...)
	l.dump = l.dumpOf(keys)
	l.until("it is restored", func() bool { return l.pass() == topology.Idle })
	return l
}

func TestASetStartsWithItsBackup(t *testing.T) {
	for name, with := range map[string][]func(*cachev1alpha1.Redis){
		"volumes": {onVolumes}, "snapshots": {onVolumes, persisted(cachev1alpha1.RedisPersistRDB)}, "no volumes": nil,
	} {
		t.Run(name, func(t *testing.T) {
			l := restoredLoopback(t, 50, with...)
			last := l.redis.Status.LastFailover
			if l.source != nil || last.Reason != commonv1.ReasonRestored || l.redis.Status.Restore.Phase != cachev1alpha1.RedisRestoreCompleted ||
				l.redis.Status.Restore.Item != "item" {
				t.Errorf("%+v, %+v", last, l.redis.Status.Restore)
			}
			l.expectKeys(50)
		})
	}
}

func TestASetStartsWithAnEmptyBackup(t *testing.T) {
	l := restoredLoopback(t, 0, onVolumes)
	if l.redis.Status.LastFailover.Reason != commonv1.ReasonRestored {
		t.Errorf("%+v", l.redis.Status.LastFailover)
	}
	l.write(0, 10)
}

// The node that loads is killed once it has all, and the operator with it, before there is a master.
func TestALoaderThatIsKilledLoadsAgain(t *testing.T) {
	l := startLoopback(t, 3, startsWithBackup, patient)
	l.dump = l.dumpOf(50)
	l.until("a node loads it", func() bool { return l.pass() == topology.LoadBackup })
	loader := l.nodes[0]
	l.kill(loader)
	loader.dir, loader.uid, loader.restartSettings = t.TempDir(), "uid-again", "" // its pod, too
	l.start(loader)
	l.succeed()
	l.until("it is restored", func() bool { return l.pass() == topology.Idle })
	l.expectKeys(50)
}

// The server of the backup ends in the middle, and another takes its place.
func TestABackupIsServedAgain(t *testing.T) {
	l := startLoopback(t, 3, startsWithBackup, patient)
	l.dump = l.dumpOf(50)
	l.until("a node loads it", func() bool { return l.pass() == topology.LoadBackup })
	l.setSource(false)
	l.until("it is restored", func() bool { return l.pass() == topology.Idle })
	l.expectKeys(50)
	if l.redis.Status.LastFailover.Reason != commonv1.ReasonRestored {
		t.Errorf("%+v", l.redis.Status.LastFailover)
	}
}

// The status was put back to what it was before, and after that all servers were restarted. A write was confirmed meanwhile.
func TestARestoredSetIsNeverLoadedAgain(t *testing.T) {
	l := startLoopback(t, 3, onVolumes, startsWithBackup, patient)
	before := l.backup()
	l.dump = l.dumpOf(50)
	l.until("a node loads it", func() bool { return l.pass() == topology.LoadBackup })
	amid := l.backup()
	l.until("it is restored", func() bool { return l.pass() == topology.Idle })
	l.write(50, 60)
	for _, state := range []savedState{before, amid} {
		l.until("all have it on their disks", func() bool {
			return l.infoOfAll("aof_rewrite_in_progress")+l.infoOfAll("aof_rewrite_scheduled") == "0 0 00 0 0"
		})
		for _, n := range l.nodes {
			l.kill(n)
		}
		l.restore(state)
		for _, n := range l.nodes {
			l.start(n)
		}
		l.until("a human is asked", func() bool { return l.pass() == topology.Block })
		if l.last.Reason != commonv1.ReasonDataExists {
			t.Errorf("%s: %s", l.last.Reason, l.last.Message)
		}
		l.redis.Spec.Bootstrap = nil
		l.until("it continues with what it has", func() bool { return l.pass() == topology.Idle })
		l.expectKeys(60)
		startsWithBackup(l.redis)
	}
}

// A backup that an earlier release has verified by its sizes alone may have a value that a full check refuses.
func TestAValueThatIsRefusedIsLoadedOnceAHumanAcceptsIt(t *testing.T) {
	l := startLoopback(t, 1, startsWithBackup, patient)
	l.dump = filepath.Join(t.TempDir(), "dump.rdb")
	if err := os.WriteFile(l.dump, hostile.DeceivingDump(), 0o600); err != nil {
		t.Fatal(err)
	}
	l.setSource(true)
	if err := l.source.command.Wait(); err == nil || l.source.command.ProcessState.ExitCode() != 1 {
		t.Errorf("by default, its server ends with %v", err)
	}
	l.redis.Spec.Bootstrap.Backup.Item, l.redis.Spec.Bootstrap.Backup.AllowUnverified = "20260102T120000Z-89abcdef", true
	l.until("it is restored", func() bool { return l.pass() == topology.Idle })
	if keys, err := l.client(l.nodes[0]).DBSize(t.Context()).Result(); keys != 1 || err != nil {
		t.Errorf("it has %d keys, %v", keys, err)
	}
}

// No client can write to the server of the backup, or turn it into something else.
func TestTheServerOfABackupTakesNoWrites(t *testing.T) {
	l := startLoopback(t, 1, startsWithBackup, patient)
	l.dump = l.dumpOf(3)
	l.until("a node loads it", func() bool { return l.pass() == topology.LoadBackup })
	c := l.client(l.source)
	if err := c.Set(t.Context(), "k", "v", 0).Err(); err == nil || !strings.HasPrefix(err.Error(), "NOREPLICAS") {
		t.Error(err)
	}
}
