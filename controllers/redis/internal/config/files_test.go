package config_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	. "github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
)

func TestRedisConf(t *testing.T) {
	limited := corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1000Mi")}}
	for _, c := range []struct {
		reason string
		spec   cachev1alpha1.RedisSpec
		has    []string
		hasNot []string
	}{
		{"born fenced, with its own password for replication", cachev1alpha1.RedisSpec{},
			[]string{`replicaof "127.0.0.1" "1"`, `masteruser "_replication"`, `masterauth "re\"pl"`, `repl-backlog-ttl "0"`,
				`min-replicas-to-write "1"`, `min-replicas-max-lag "3"`, `repl-backlog-size "67108864"`, `maxmemory "0"`}, nil},
		{"who has no data yet answers no one", cachev1alpha1.RedisSpec{}, []string{`replica-serve-stale-data "no"`}, nil},
		{"without storage nothing is written", cachev1alpha1.RedisSpec{}, []string{`save ""`, `appendonly "no"`}, nil},
		{"with storage the append-only file is", cachev1alpha1.RedisSpec{Storage: &cachev1alpha1.RedisStorage{}},
			[]string{`save ""`, `appendonly "yes"`, `appendfsync "everysec"`}, nil},
		{"snapshots", cachev1alpha1.RedisSpec{Persistence: &cachev1alpha1.RedisPersistence{Mode: cachev1alpha1.RedisPersistRDB}},
			[]string{`save "3600" "1" "300" "100" "60" "10000"`, `appendonly "no"`}, nil},
		{"both", cachev1alpha1.RedisSpec{Persistence: &cachev1alpha1.RedisPersistence{Mode: cachev1alpha1.RedisPersistBoth,
			AppendFsync: "always"}},
			[]string{`save "3600"`, `appendonly "yes"`, `appendfsync "always"`}, nil},
		{"three quarters of the limit are for data", cachev1alpha1.RedisSpec{Resources: limited}, []string{`maxmemory "786432000"`}, nil},
		{"the share of the limit that is for data may be chosen",
			cachev1alpha1.RedisSpec{Resources: limited, MaxMemoryPercent: ptr.To[int32](50)}, []string{`maxmemory "524288000"`}, nil},
		{"a bound of the user's wins", cachev1alpha1.RedisSpec{Resources: limited, Config: OneDirective("maxmemory", "100mb")},
			[]string{`maxmemory "100mb"`}, []string{`maxmemory "7`}},
		{"what takes a start", cachev1alpha1.RedisSpec{Config: OneDirective("databases", "32")}, []string{`databases "32"`}, nil},
		{"a value is one word", cachev1alpha1.RedisSpec{Config: OneDirective("notify-keyspace-events", "K E\" x")},
			[]string{`notify-keyspace-events "K E\" x"`}, nil},
		{"a directive with several values has several words",
			cachev1alpha1.RedisSpec{Config: OneDirective("client-output-buffer-limit", "normal 1 2 3")},
			[]string{`client-output-buffer-limit "normal" "1" "2" "3"`}, nil},
		{"TLS leaves no port without", cachev1alpha1.RedisSpec{TLS: &cachev1alpha1.RedisTLS{}},
			[]string{`port "0"`, `tls-port "6379"`, `tls-replication "yes"`, `tls-auth-clients "no"`, `include "/etc/redis-tls/tls.conf"`},
			[]string{"tls-cert-file", "\nport \"6379\""}},
		{"certificates may be shown", cachev1alpha1.RedisSpec{TLS: &cachev1alpha1.RedisTLS{ClientAuth: cachev1alpha1.RedisClientAuthOptional}},
			[]string{`tls-auth-clients "optional"`}, nil},
		{"certificates may be required", cachev1alpha1.RedisSpec{TLS: &cachev1alpha1.RedisTLS{ClientAuth: cachev1alpha1.RedisClientAuthRequired}},
			[]string{`tls-auth-clients "yes"`}, nil},
		{"alone there is no one to wait for", cachev1alpha1.RedisSpec{Size: ptr.To[int32](1)}, []string{`min-replicas-to-write "0"`}, nil},
		{"W as asked", cachev1alpha1.RedisSpec{Durability: &cachev1alpha1.RedisDurability{MinReplicasToWrite: ptr.To[int32](2)}},
			[]string{`min-replicas-to-write "2"`}, nil},
	} {
		t.Run(c.reason, func(t *testing.T) {
			file := fileOf(&cachev1alpha1.Redis{Spec: c.spec})
			for _, line := range c.has {
				if !strings.Contains(file, line) {
					t.Errorf("%q is missing in\n%s", line, file)
				}
			}
			for _, line := range c.hasNot {
				if strings.Contains(file, line) {
					t.Errorf("%q is in\n%s", line, file)
				}
			}
		})
	}
}

func TestQuoteIsOneLine(t *testing.T) {
	for value, want := range map[string]string{
		"plain": `"plain"`, "a b": `"a b"`, `"`: `"\""`, `\`: `"\\"`, "a\nreplicaof no one": `"a\x0areplicaof no one"`, "\x00": `"\x00"`,
		"ä": `"\xc3\xa4"`,
	} {
		if got := Quote(value); got != want {
			t.Errorf("quote(%q) = %s, want %s", value, got, want)
		}
	}
}

// fileOf servers that have accepted all that the spec says.
func fileOf(r *cachev1alpha1.Redis) string {
	return Resolve(r).RedisConf(Passwords, Settings{Live: Resolve(r).LiveDirectives(0)})
}

func TestTheFileAtFirstHasNothingThatAServerCouldRefuse(t *testing.T) {
	r := &cachev1alpha1.Redis{Spec: cachev1alpha1.RedisSpec{Storage: &cachev1alpha1.RedisStorage{}, Config: OneDirective("hz", "abc")}}
	file := Resolve(r).RedisConf(Passwords, Resolve(r).InitialSettings())
	if strings.Contains(file, "hz") || !strings.Contains(file, `appendonly "yes"`) {
		t.Errorf("got\n%s", file)
	}
}

func TestRestartSettingsChangeWithWhatTakesNewPods(t *testing.T) {
	plain := &cachev1alpha1.Redis{}
	for _, c := range []struct {
		reason string
		change func(*cachev1alpha1.Redis, *Settings)
		apart  []string
	}{
		{"W is set by command", func(r *cachev1alpha1.Redis, _ *Settings) {
			r.Spec.Durability = &cachev1alpha1.RedisDurability{MinReplicasToWrite: ptr.To[int32](2), MaxLagSeconds: ptr.To[int32](9)}
		}, nil},
		{"so is most else", func(r *cachev1alpha1.Redis, s *Settings) {
			r.Spec.Config = OneDirective("maxclients", "5")
			s.Live = Resolve(r).LiveDirectives(0)
		}, nil},
		{"a directive that is read at a start only takes new pods",
			func(r *cachev1alpha1.Redis, _ *Settings) { r.Spec.Config = OneDirective("databases", "5") },
			[]string{"databases"}},
		{"a directive that was taken out takes new pods", func(_ *cachev1alpha1.Redis, s *Settings) { s.Resets["hz"]++ }, []string{"hz"}},
		{"another file to start from takes new pods", func(_ *cachev1alpha1.Redis, s *Settings) { s.Live[AppendOnly] = "yes" },
			[]string{AppendOnly}},
	} {
		r, s := plain.DeepCopy(), Resolve(plain).InitialSettings()
		c.change(r, &s)
		if got := DifferingDirectives(Resolve(plain).RestartSettings(Resolve(plain).InitialSettings()),
			Resolve(r).RestartSettings(s)); !slices.Equal(got, c.apart) {
			t.Errorf("%s: %v", c.reason, got)
		}
	}
}

func TestUsersHoldNoPassword(t *testing.T) {
	file := UsersACL(Passwords)
	for _, secret := range []string{Passwords.Published.Password, Passwords.Operator, Passwords.Replication, Passwords.Backup} {
		if strings.Contains(file, secret) {
			t.Errorf("%q is in the clear", secret)
		}
	}
	if lines := strings.Split(strings.TrimSpace(file), "\n"); len(lines) != 5 ||
		slices.ContainsFunc(lines, func(l string) bool { return !strings.HasPrefix(l, "user ") }) {
		t.Errorf("want five users, got\n%s", file)
	}
}

// A pod that is to be replaced for its limit goes by the limit that it has.
func TestMemoryGoesByThePodsOwnLimit(t *testing.T) {
	r := &cachev1alpha1.Redis{}
	r.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2000")}
	if got := Resolve(r).LiveDirectives(1000)[MaxMemory] + " " + Resolve(r).LiveDirectives(0)[MaxMemory]; got != "750 1500" {
		t.Error(got)
	}
	r.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("0")}
	if got := Resolve(r).LiveDirectives(1000)[MaxMemory]; got != "0" {
		t.Errorf("a limit of nothing is no limit: %s", got)
	}
	r.Spec.Resources.Limits = nil
	if got := Resolve(r).LiveDirectives(1000)[MaxMemory]; got != "0" {
		t.Errorf("a bound that no one asked for: %s", got)
	}
}
