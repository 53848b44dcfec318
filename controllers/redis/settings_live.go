package redis

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

	// settingsKey of <name>-files holds what the servers have accepted.
	settingsKey = "settings"

	appendOnly     = "appendonly"
	snapshots      = "save"
	maxMemory      = "maxmemory"
	baseDirectives = "base" // of every file, whatever the spec
)

// startupOnly are the directives that are read at a server's start only. Their values are checked with the spec:
// there is no server to ask.
var startupOnly = []string{"databases", "io-threads"}

// settings are the directives that running servers have accepted. Their file
// follows them and not the spec: a server never starts with a value that another
// would refuse, nor with a way of saving that its data is not kept in.
type settings struct {
	Live map[string]string `json:"live"`
	// Resets count how often a directive was taken out of the spec. No command
	// gives the default back: the pods are made anew.
	Resets map[string]int `json:"resets,omitempty"`
}

// initialSettings are the settings that need no server's consent.
func (s spec) initialSettings() settings {
	initial := settings{Live: s.liveDirectives(0), Resets: map[string]int{}}
	for name := range s.Directives {
		delete(initial.Live, name)
	}
	return initial
}

func (s settings) clone() settings {
	resets := map[string]int{}
	maps.Copy(resets, s.Resets)
	return settings{Live: maps.Clone(s.Live), Resets: resets}
}

func (s settings) text() string {
	text, _ := json.Marshal(s) // of texts and numbers there is no error
	return string(text)
}

func (s settings) directives() []directive {
	list := make([]directive, 0, len(s.Live))
	for _, name := range slices.Sorted(maps.Keys(s.Live)) {
		list = append(list, directive{name, splitValue(name, s.Live[name])})
	}
	return list
}

// splitValue gives the arguments in a value: one, but for the directives that take several.
func splitValue(name, value string) []string {
	if several := strings.Fields(value); len(several) > 0 && (name == "client-output-buffer-limit" || name == snapshots) {
		return several
	}
	return []string{value}
}

// liveDirectives are the directives that a running server can be told, as the spec has them. What depends on
// memory goes by the limit of the server's own pod, which is replaced when the limit changes; 0 stands for the
// spec's limit.
func (s spec) liveDirectives(limit int64) map[string]string {
	memory := s.maxMemoryBytes(limit)
	list := map[string]string{
		"min-replicas-max-lag": strconv.Itoa(int(s.MaxLag.Seconds())),
		"repl-backlog-size":    strconv.FormatInt(max(minBacklog, memory/20), 10),
		maxMemory:              strconv.FormatInt(memory, 10),
		snapshots:              "",
		appendOnly:             yesNo(s.usesAppendOnly()),
		"appendfsync":          s.AppendFsync,
	}
	if s.usesSnapshots() {
		list[snapshots] = "3600 1 300 100 60 10000"
	}
	for name, value := range s.Directives {
		if !slices.Contains(startupOnly, name) {
			list[name] = string(value)
		}
	}
	return list
}

// immediateDirectives are the live directives that a server with that memory limit is told at once. How it persists is
// changed in steps.
func (s spec) immediateDirectives(limit int64) map[string]string {
	list := s.liveDirectives(limit)
	delete(list, appendOnly)
	return list
}

// usesAppendOnly reports whether every write is to be appended to a file.
func (s spec) usesAppendOnly() bool {
	return s.Persistence == cachev1alpha1.RedisPersistAOF || s.Persistence == cachev1alpha1.RedisPersistBoth
}

// usesSnapshots reports whether all data is to be written to a file now and then.
func (s spec) usesSnapshots() bool {
	return s.Persistence == cachev1alpha1.RedisPersistRDB || s.Persistence == cachev1alpha1.RedisPersistBoth
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// maxMemoryBytes is the limit of the data in bytes, 0 for none.
func (s spec) maxMemoryBytes(limit int64) int64 {
	if _, chosen := s.Directives[maxMemory]; chosen || s.MemoryLimit == 0 {
		return 0
	}
	return cmp.Or(limit, s.MemoryLimit) / 100 * s.MemoryPercent
}

// rollingDirectives are the user's directives that need new pods.
func (s spec) rollingDirectives() []directive {
	var list []directive
	for _, name := range startupOnly {
		if value, chosen := s.Directives[name]; chosen {
			list = append(list, directive{name, []string{string(value)}})
		}
	}
	return list
}

// restartMark is borne by the pods: a different mark takes new pods, and its words tell what for. Every server
// appends its writes before the mark says so, and still the pods are made anew: a kubelet brings the file in its
// own time, and a server that starts from the one before would not read what it has appended.
func (s spec) restartMark(accepted settings) string {
	marks := []string{baseDirectives + "=" + digest(render(s.fixedDirectives()))[:8], appendOnly + "=" + accepted.Live[appendOnly]}
	for _, d := range s.rollingDirectives() {
		marks = append(marks, d.name+"="+d.args[0])
	}
	for _, name := range slices.Sorted(maps.Keys(accepted.Resets)) {
		marks = append(marks, fmt.Sprintf("%s=default.%d", name, accepted.Resets[name]))
	}
	return strings.Join(marks, " ")
}

// differingMarks are the directives by which two marks differ.
func differingMarks(a, b string) []string {
	one, other := strings.Fields(a), strings.Fields(b)
	var names []string
	for _, mark := range slices.Concat(one, other) {
		if name, _, _ := strings.Cut(mark, "="); !slices.Contains(one, mark) || !slices.Contains(other, mark) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// settingsIn reads the settings from a Secret's data, where settings.text wrote them.
func settingsIn(data map[string][]byte) settings {
	var s settings
	_ = json.Unmarshal(data[settingsKey], &s) // what cannot be read is made anew from what runs
	return s
}
