// Package figures holds what the benchmark measured, and shows it: medians, ratios, tables and the points of plots. It measures nothing.
package figures

import (
	"slices"
	"time"
)

// Contestants of the benchmark.
const (
	Ours = "operator"
	Null = "null"
)

// Names of the phases.
const (
	Create = "create"
	Edit   = "edit"
	Delete = "delete"
)

// Report is of all runs of one state of the code.
type Report struct {
	// Code identifies that state; empty where git cannot, or where something is not committed.
	Code string
	// Limits of the rate at which kube-controller-manager and kube-scheduler may ask the API server. They hold for both contestants.
	Limits string
	Runs   []Run
}

// Run is one contestant's, with N objects of a kind.
type Run struct {
	Kind       string
	Objects    int
	Contestant string
	Phases     []Phase
	// Managers are empty for the null operator.
	Managers []Manager `json:",omitempty"`
	// TakeOver is how long an edit waited that was sent when the leader was killed, and Restart how long one waited for managers that
	// had just been started.
	TakeOver, Restart time.Duration `json:",omitempty"`
}

// Phase of a run: all objects are created, edited or deleted.
type Phase struct {
	Name string
	// Took is the time until all objects were Ready or gone.
	Took     time.Duration
	Requests Requests
	// APIServerCPU and ManagerCPU were used until the contestant had come to rest.
	APIServerCPU, ManagerCPU time.Duration
}

// Requests of the contestant that reached the API server. Leases and watches do not count.
type Requests struct {
	Writes, Events, Reads int
}

// Manager is the memory of one of the operator's processes, in bytes; in a run, by how much it grew with the objects.
type Manager struct {
	Leads     bool
	Heap, RSS int64
	// LongestPass is what no pass over an object of the kind was longer than, so far.
	LongestPass time.Duration `json:",omitempty"`
}

// runsOf returns the runs of a contestant with that many objects of a kind.
func (r Report) runsOf(kind string, objects int, contestant string) []Run {
	var found []Run
	for _, run := range r.Runs {
		if run.Kind == kind && run.Objects == objects && run.Contestant == contestant {
			found = append(found, run)
		}
	}
	return found
}

// Done returns how many runs with that many objects of a kind there are.
func (r Report) Done(kind string, objects int) int {
	return len(r.runsOf(kind, objects, Ours)) + len(r.runsOf(kind, objects, Null))
}

// setting is what runs of both contestants have in common.
type setting struct {
	kind    string
	objects int
}

// settings returns those that runs have, by kind in the order of the runs, and by the number of objects.
func (r Report) settings() []setting {
	var kinds []string
	var all []setting
	for _, run := range r.Runs {
		if !slices.Contains(kinds, run.Kind) {
			kinds = append(kinds, run.Kind)
		}
		if s := (setting{run.Kind, run.Objects}); !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b setting) int {
		if a.kind != b.kind {
			return slices.Index(kinds, a.kind) - slices.Index(kinds, b.kind)
		}
		return a.objects - b.objects
	})
	return all
}

// Median of values; of an even number, the mean of the two in the middle. It reports whether there is any value.
func Median(values []float64) (median float64, ok bool) {
	if len(values) == 0 {
		return 0, false
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle], true
	}
	return (sorted[middle-1] + sorted[middle]) / 2, true
}

// valuesOf a figure in the phases of that name.
func valuesOf(runs []Run, phase string, of func(Run, Phase) float64) (values []float64) {
	for _, run := range runs {
		for _, p := range run.Phases {
			if p.Name == phase {
				values = append(values, of(run, p))
			}
		}
	}
	return values
}

// managersMedian of a figure over the managers that lead, or do not.
func managersMedian(runs []Run, leads bool, of func(Run, Manager) float64) (float64, bool) {
	var values []float64
	for _, run := range runs {
		for _, m := range run.Managers {
			if m.Leads == leads {
				values = append(values, of(run, m))
			}
		}
	}
	return Median(values)
}
