package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
)

const (
	// minBacklog is how many bytes of its stream the master keeps at least. They let a replica that was away for
	// a moment catch up without a full copy.
	minBacklog = 64 << 20

	// SettingsKey of <name>-files holds what the servers have accepted.
	SettingsKey = "settings"

	// AppendOnly is the directive by which a server appends every write to a file.
	AppendOnly = "appendonly"
	// AppendFsync is the directive that says when what is appended must be on the disk.
	AppendFsync = "appendfsync"
	// AppendFsyncNo is its value that leaves this to the kernel.
	AppendFsyncNo = "no"
	// Snapshots is the directive that says when a server writes all data to a file.
	Snapshots = "save"
	// MaxMemory is the directive that bounds the data in memory.
	MaxMemory = "maxmemory"
	// BaseDirectives represents, in the restart settings, the directives of every file, whatever the spec.
	BaseDirectives = "base"
)

// StartupOnly are the directives that are read at a server's start only. Their values are checked with the spec:
// there is no server to ask.
var StartupOnly = []string{"databases", "io-threads"}

// Settings are the directives that running servers have accepted. Their file
// follows them and not the spec: a server never starts with a value that another
// would refuse, nor with a way of saving that its data is not kept in.
type Settings struct {
	Live map[string]string `json:"live"`
	// Resets count how often a directive was taken out of the spec. No command
	// gives the default back: the pods are recreated.
	Resets map[string]int `json:"resets,omitempty"`
}

// InitialSettings are the settings that need no server's consent.
func (s Spec) InitialSettings() Settings {
	initial := Settings{Live: s.LiveDirectives(0), Resets: map[string]int{}}
	for name := range s.Directives {
		delete(initial.Live, name)
	}
	return initial
}

// Clone copies them, maps included.
func (s Settings) Clone() Settings {
	resets := map[string]int{}
	maps.Copy(resets, s.Resets)
	return Settings{Live: maps.Clone(s.Live), Resets: resets}
}

// Text is what SettingsKey holds; SettingsIn reads it.
func (s Settings) Text() string {
	text, _ := json.Marshal(s) // of texts and numbers there is no error
	return string(text)
}

// SettingsIn reads the settings from a Secret's data, where Settings.Text wrote them.
func SettingsIn(data map[string][]byte) Settings {
	var s Settings
	_ = json.Unmarshal(data[SettingsKey], &s) // what cannot be read is made again from what runs
	return s
}

func (s Settings) directives() []directive {
	list := make([]directive, 0, len(s.Live))
	for _, name := range slices.Sorted(maps.Keys(s.Live)) {
		list = append(list, directive{name, splitValue(name, s.Live[name])})
	}
	return list
}

// splitValue gives the arguments in a value: one, but for the directives that take several.
func splitValue(name, value string) []string {
	if several := strings.Fields(value); len(several) > 0 && (name == "client-output-buffer-limit" || name == Snapshots) {
		return several
	}
	return []string{value}
}

// LiveDirectives are the directives that a running server can be sent, as the spec has them. What depends on
// memory goes by the limit of the server's own pod, which is replaced when the limit changes; 0 stands for the
// spec's limit.
func (s Spec) LiveDirectives(limit int64) map[string]string {
	memory := s.maxMemoryBytes(limit)
	list := map[string]string{
		"min-replicas-max-lag": strconv.Itoa(int(s.MaxLag.Seconds())),
		"repl-backlog-size":    strconv.FormatInt(max(minBacklog, memory/20), 10),
		MaxMemory:              strconv.FormatInt(memory, 10),
		Snapshots:              "",
		AppendOnly:             YesNo(s.UsesAppendOnly()),
		AppendFsync:            s.AppendFsync,
	}
	if s.UsesSnapshots() {
		list[Snapshots] = "3600 1 300 100 60 10000"
	}
	for name, value := range s.Directives {
		if !slices.Contains(StartupOnly, name) {
			list[name] = string(value)
		}
	}
	return list
}

// ImmediateDirectives are the live directives that a server with that memory limit is sent at once. How it persists is
// changed in steps.
func (s Spec) ImmediateDirectives(limit int64) map[string]string {
	list := s.LiveDirectives(limit)
	delete(list, AppendOnly)
	return list
}

// UsesAppendOnly reports whether every write is to be appended to a file.
func (s Spec) UsesAppendOnly() bool {
	return s.Persistence == cachev1alpha1.RedisPersistAOF || s.Persistence == cachev1alpha1.RedisPersistBoth
}

// UsesSnapshots reports whether all data is to be written to a file now and then.
func (s Spec) UsesSnapshots() bool {
	return s.Persistence == cachev1alpha1.RedisPersistRDB || s.Persistence == cachev1alpha1.RedisPersistBoth
}

// YesNo is how redis.conf writes a truth value.
func YesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// maxMemoryBytes is the limit of the data in bytes, 0 for none.
func (s Spec) maxMemoryBytes(limit int64) int64 {
	if _, chosen := s.Directives[MaxMemory]; chosen || s.MemoryLimit == 0 {
		return 0
	}
	return cmp.Or(limit, s.MemoryLimit) / 100 * s.MemoryPercent
}

// rollingDirectives are the user's directives that need new pods.
func (s Spec) rollingDirectives() []directive {
	var list []directive
	for _, name := range StartupOnly {
		if value, chosen := s.Directives[name]; chosen {
			list = append(list, directive{name, []string{string(value)}})
		}
	}
	return list
}

// RestartSettings are the settings that take effect only in a new pod, in one line. Each pod bears the line that it was
// made for: another line takes new pods, and the words that differ show why. Every server appends its writes
// before the line says so, and still the pods are recreated: a kubelet brings the file in its own time, and a server that
// starts from the one before would not read what it has appended.
func (s Spec) RestartSettings(accepted Settings) string {
	settings := []string{BaseDirectives + "=" + Digest(render(s.fixedDirectives()))[:8], AppendOnly + "=" + accepted.Live[AppendOnly]}
	for _, d := range s.rollingDirectives() {
		settings = append(settings, d.name+"="+d.args[0])
	}
	for _, name := range slices.Sorted(maps.Keys(accepted.Resets)) {
		settings = append(settings, fmt.Sprintf("%s=default.%d", name, accepted.Resets[name]))
	}
	return strings.Join(settings, " ")
}

// DifferingDirectives are the directives by which two lines of RestartSettings differ.
func DifferingDirectives(a, b string) []string {
	one, other := strings.Fields(a), strings.Fields(b)
	var names []string
	for _, setting := range slices.Concat(one, other) {
		if name, _, _ := strings.Cut(setting, "="); !slices.Contains(one, setting) || !slices.Contains(other, setting) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
