package fleet

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/clock"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// Settings, with real servers.

func persisted(mode cachev1alpha1.RedisPersistenceMode) func(*cachev1alpha1.Redis) {
	return func(r *cachev1alpha1.Redis) {
		r.Spec.Storage = &cachev1alpha1.RedisStorage{}
		r.Spec.Persistence = &cachev1alpha1.RedisPersistence{Mode: mode}
	}
}

// expectConfig checks a directive on every server.
func (l *loopback) expectConfig(directive, value string) {
	l.t.Helper()
	for _, n := range l.nodes {
		c := l.operator(n)
		if got := c.ConfigGet(l.t.Context(), directive).Val()[directive]; got != value {
			l.t.Errorf("%s runs with %s %q, want %q", n.name, directive, got, value)
		}
	}
}

// infoOfAll gives one field of every server's INFO.
func (l *loopback) infoOfAll(field string) string {
	var list []string
	for _, n := range l.nodes {
		list = append(list, l.info(n, field))
	}
	return strings.Join(list, " ")
}

func TestI13SettingsChangeAndNoOperationFails(t *testing.T) {
	l := newLoopback(t, 3, persisted(cachev1alpha1.RedisPersistAOF), func(r *cachev1alpha1.Redis) {
		r.Spec.Config = fixture.OneDirective("hz", "20")
		r.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1000Mi")}
	})
	l.expectConfig("hz", "20") // though no file had it when they started
	l.write(0, 1)
	processes := l.infoOfAll("run_id")
	ctx, stop := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	var written, failed atomic.Int64
	c := l.client(l.master())
	writing.Go(func() {
		for ctx.Err() == nil {
			if err := c.Incr(context.WithoutCancel(ctx), "n").Err(); err != nil {
				failed.Add(1)
				t.Log(err)
			}
			written.Add(1)
		}
	})
	for _, change := range []struct {
		edit        func(*cachev1alpha1.RedisSpec)
		name, value string
	}{
		{func(s *cachev1alpha1.RedisSpec) {
			s.Config = fixture.OneDirective("maxmemory-policy", "allkeys-lru")
			s.Config["hz"] = "30"
		}, "maxmemory-policy", "allkeys-lru"},
		{func(s *cachev1alpha1.RedisSpec) {
			s.Config["client-output-buffer-limit"] = "normal 0 0 0 pubsub 32mb 8mb 60"
		}, "client-output-buffer-limit",
			"normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60"},
		{func(s *cachev1alpha1.RedisSpec) { s.Config["notify-keyspace-events"] = "Ex" }, "notify-keyspace-events", "xE"},
		{func(s *cachev1alpha1.RedisSpec) { s.MaxMemoryPercent = new(int32(50)) }, "maxmemory", "524288000"},
		{func(s *cachev1alpha1.RedisSpec) {
			s.Durability = &cachev1alpha1.RedisDurability{MaxLagSeconds: new(int32(7))}
		}, "min-replicas-max-lag", "7"},
		{func(s *cachev1alpha1.RedisSpec) { s.Persistence.Mode = cachev1alpha1.RedisPersistBoth }, "save", "3600 1 300 100 60 10000"},
		{func(s *cachev1alpha1.RedisSpec) { s.Persistence.AppendFsync = "always" }, "appendfsync", "always"},
	} {
		change.edit(&l.redis.Spec)
		l.heal()
		l.expectConfig(change.name, change.value)
	}
	before := l.infoOfAll("cmdstat_config|set")
	for range 5 {
		l.pass()
	}
	if after := l.infoOfAll("cmdstat_config|set"); strings.Join(callsOf(before), " ") != strings.Join(callsOf(after), " ") {
		t.Errorf("at rest servers are sent what they know: %s, %s", before, after)
	}
	stop()
	writing.Wait()
	if l.infoOfAll("run_id") != processes || failed.Load() > 0 || written.Load() == 0 {
		t.Errorf("%d of %d operations failed; servers %s, then %s", failed.Load(), written.Load(), processes, l.infoOfAll("run_id"))
	}
	t.Logf("%d writes, %d failed", written.Load(), failed.Load())
	l.crash(true)
	l.heal()
	if l.infoOfAll("run_id") == processes {
		t.Error("none was restarted")
	}
	l.expectConfig("hz", "30")
	l.expectConfig("appendfsync", "always")
}

func callsOf(stats string) []string {
	var calls []string
	for _, stat := range strings.Fields(stats) {
		first, _, _ := strings.Cut(stat, ",")
		calls = append(calls, first)
	}
	return calls
}

func TestARefusedSettingBreaksNothingAndHeals(t *testing.T) {
	l := newLoopback(t, 2, func(r *cachev1alpha1.Redis) { r.Spec.Config = fixture.OneDirective("maxmemory-policy", "nonsense") })
	l.redis.Spec.Config["hz"], l.redis.Spec.Config["timeout"] = "abc", "77"
	l.heal()
	l.expectConfig("timeout", "77")
	l.expectConfig("hz", "10")
	if _, is := l.written.Live["hz"]; is || l.written.Live["timeout"] != "77" {
		t.Errorf("servers would start with %v", l.written.Live)
	}
	l.replace(l.replica())
	l.heal()
	l.redis.Spec.Config = fixture.OneDirective("hz", "50")
	l.redis.Spec.Config["timeout"] = "77"
	l.heal()
	l.expectConfig("hz", "50")
	if len(l.written.Resets) > 0 {
		t.Errorf("what no server took is taken out of none: %v", l.written.Resets)
	}
}

func TestASettingThatIsTakenOutRollsThePods(t *testing.T) {
	l := newLoopback(t, 2, func(r *cachev1alpha1.Redis) { r.Spec.Config = fixture.OneDirective("hz", "50") })
	l.write(0, 50)
	processes := l.infoOfAll("run_id")
	l.redis.Spec.Config = nil
	l.heal()
	l.expectConfig("hz", "10")
	for _, id := range strings.Fields(l.infoOfAll("run_id")) {
		if strings.Contains(processes, id) {
			t.Errorf("%s runs on", id)
		}
	}
	l.expectKeys(50)
}

func TestAServerThatCannotAppendIsTriedAgain(t *testing.T) {
	l := newLoopback(t, 2, persisted(cachev1alpha1.RedisPersistRDB))
	l.write(0, 50)
	replica := l.replica()
	obstacle := filepath.Join(replica.dir, "appendonlydir") // where it would make a directory
	if err := os.WriteFile(obstacle, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l.redis.Spec.Persistence.Mode = cachev1alpha1.RedisPersistAOF
	stuck := func() string {
		return l.running.memory.settingsReplies[l.info(replica, "run_id")].persistRefusal
	}
	l.until("it says so", func() bool { l.pass(); return strings.Contains(stuck(), "Unable to turn on AOF") })
	l.write(50, 60)
	if l.written.Live[config.AppendOnly] != "no" {
		t.Error("it would start without its data")
	}
	if err := os.Remove(obstacle); err != nil {
		t.Fatal(err)
	}
	l.heal()
	l.expectConfig(config.AppendOnly, "yes")
	l.expectKeys(60)
}

// A crash of every server and of the operator, at each stage of a change of
// persistence there and back, keeps what was on the disks, be the kubelet prompt or
// slow; after the change, all that was written since.
func TestI15AnotherPersistenceKeepsTheDataThroughKills(t *testing.T) {
	const rdb, aof, both = cachev1alpha1.RedisPersistRDB, cachev1alpha1.RedisPersistAOF, cachev1alpha1.RedisPersistBoth
	stages := 6
	if testing.Short() {
		stages /= 2
	}
	for prompt, kubelet := range map[bool]string{true: "prompt", false: "slow"} {
		t.Run(kubelet, func(t *testing.T) {
			l := newLoopback(t, 2, persisted(rdb), func(r *cachev1alpha1.Redis) {
				// With everysec a server keeps what it appends to itself while it syncs; what is
				// written outlives a killed process, synced or not.
				r.Spec.Persistence.AppendFsync = "no"
			})
			keys := 50
			l.write(0, keys)
			l.snapshot(l.nodes...)
			for stage := range stages {
				for _, mode := range []cachev1alpha1.RedisPersistenceMode{[]cachev1alpha1.RedisPersistenceMode{aof, both}[stage%2], rdb} {
					if mode == rdb { // so far each write is on the disks
						l.write(keys, keys+10)
						keys += 10
					}
					l.redis.Spec.Persistence.Mode = mode
					l.advance(stage)
					l.crash(prompt)
					l.heal()
					l.expectKeys(keys)
					if l.expectConfig(config.AppendOnly, config.YesNo(mode != rdb)); t.Failed() {
						t.Fatalf("to %s, killed at stage %d", mode, stage)
					}
				}
			}
			l.redis.Spec.Persistence.Mode = aof
			l.heal()
			l.write(keys, 200)
			l.crash(prompt)
			l.heal()
			l.expectKeys(200)
		})
	}
}

// advance so many stages: the servers or their file are others after each.
func (l *loopback) advance(stages int) {
	l.t.Helper()
	is := func() string {
		return l.written.Text() + l.infoOfAll("aof_enabled") + l.infoOfAll("aof_rewrite_in_progress") + l.infoOfAll("rdb_saves") +
			l.infoOfAll("run_id")
	}
	for range stages {
		before := is()
		l.until("another stage", func() bool { return l.pass() == topology.Idle || is() != before })
	}
}

// snapshot the data of these servers.
func (l *loopback) snapshot(of ...*localServer) {
	l.t.Helper()
	for _, n := range of {
		s := wire.Open(n.address, l.secrets.Operator, nil, nil)
		defer s.Close()
		l.until("it takes a snapshot", func() bool { return s.SaveSnapshot(l.t.Context()) == nil })
		l.until("the snapshot is there", func() bool { return l.info(n, "rdb_bgsave_in_progress") == "0" })
	}
}

// crash of every server and of the operator at once. A prompt kubelet has brought
// the files by then; a slow one leaves those that the pod was made with.
func (l *loopback) crash(prompt bool) {
	l.t.Helper()
	for _, n := range l.nodes {
		l.signal(n, syscall.SIGKILL)
		_ = n.command.Wait()
	}
	l.running = startOperator(clock.RealClock{})
	for _, n := range l.nodes {
		if made := n.restartSettings; prompt {
			l.mount(n)
			n.restartSettings = made // its pod is the same
		}
		l.start(n)
	}
}

// Every directive of the allow-list that the server here knows is one that it
// takes while it runs, or one that takes new pods.
func TestEverySupportedDirectiveIsLiveOrRolled(t *testing.T) {
	crd, err := os.ReadFile("../../../../config/crd/bases/cache.mainstay-operator.io_redis.yaml")
	if err != nil {
		t.Fatal(err)
	}
	listed := regexp.MustCompile(`(?s)k in \[(.*?)\]`).FindSubmatch(crd)
	if listed == nil {
		t.Fatal("the allow-list is not there")
	}
	l := newLoopback(t, 1)
	c := l.operator(l.nodes[0])
	names := regexp.MustCompile(`[a-z][a-z-]+`).FindAllString(string(listed[1]), -1)
	for _, name := range names {
		value, known := c.ConfigGet(t.Context(), name).Val()[name]
		if name == "client-output-buffer-limit" {
			value = "normal 0 0 0 pubsub 32mb 8mb 60"
		}
		if !known {
			continue
		}
		err := c.ConfigSet(t.Context(), name, value).Err()
		if rolls := slices.Contains(config.StartupOnly, name); rolls != (err != nil && strings.Contains(err.Error(), "immutable")) ||
			!rolls && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(names) < 40 {
		t.Errorf("%d directives", len(names))
	}
}
