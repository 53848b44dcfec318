package explore

import (
	"errors"
	"iter"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
)

// jugs are two of three and five liters. A move fills, empties or pours.
type jugs struct{ three, five int }

var errFour = errors.New("there are four liters")

// pouring is the model of the jugs. It counts what was checked at rest.
type pouring struct {
	check, checkRest func(jugs) error
	rested           *atomic.Int32
}

func (pouring) Apply(j jugs, move string) jugs {
	switch move {
	case "fill three":
		return jugs{3, j.five}
	case "fill five":
		return jugs{j.three, 5}
	case "empty three":
		return jugs{0, j.five}
	case "empty five":
		return jugs{j.three, 0}
	case "pour three into five":
		poured := min(j.three, 5-j.five)
		return jugs{j.three - poured, j.five + poured}
	}
	poured := min(j.five, 3-j.three)
	return jugs{j.three + poured, j.five - poured}
}

func (p pouring) Successors(j jugs) iter.Seq2[string, jugs] {
	return func(yield func(string, jugs) bool) {
		for _, move := range []string{"fill three", "fill five", "empty three", "empty five", "pour three into five", "pour five into three"} {
			if !yield(move, p.Apply(j, move)) {
				return
			}
		}
	}
}

func (pouring) Key(j jugs) uint64 { return uint64(10*j.three + j.five) } //nolint:gosec // small

func (p pouring) Check(j jugs) error { return p.check(j) }

func (p pouring) CheckRest(j jugs) error {
	p.rested.Add(1)
	return p.checkRest(j)
}

func isWell(jugs) error { return nil }

func hasFour(j jugs) error {
	if j.five == 4 {
		return errFour
	}
	return nil
}

// What a search finds is the same for any number of workers, and also where states are played again from the start.
func TestSearch(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	shortest := []string{"fill five", "pour five into three", "empty three", "pour five into three", "fill five", "pour five into three"}
	for name, c := range map[string]struct {
		check, checkRest func(jugs) error
		search           Search[jugs, string]
		states, depth    int
		rested           int32
		way              []string
	}{
		"all states are found":               {isWell, isWell, Search[jugs, string]{RestEvery: 1}, 16, 8, 16, nil},
		"a third of the states rests":        {isWell, isWell, Search[jugs, string]{RestEvery: 3}, 16, 8, 5, nil},
		"a limit ends the search":            {isWell, isWell, Search[jugs, string]{RestEvery: 1, Limit: 5}, 5, 2, 5, nil},
		"a limit lets a depth be finished":   {isWell, isWell, Search[jugs, string]{RestEvery: 1, Limit: 5, FinishesDepth: true}, 6, 2, 6, nil},
		"the way to a fault is the shortest": {hasFour, isWell, Search[jugs, string]{RestEvery: 1}, 13, 6, 12, shortest},
		"a fault at rest is found":           {isWell, hasFour, Search[jugs, string]{RestEvery: 1}, 16, 7, 14, shortest},
	} {
		t.Run(name, func(t *testing.T) {
			for _, workers := range []int{1, 3} {
				for _, mostKept := range []int{0, 1} {
					runtime.GOMAXPROCS(workers)
					var rested atomic.Int32
					search := c.search
					search.mostKept = mostKept
					search.NewModel = func() Model[jugs, string] { return pouring{c.check, c.checkRest, &rested} }
					got := search.Run()
					if got.States != c.states || got.Depth != c.depth || rested.Load() != c.rested {
						t.Errorf("%d workers, %d kept: got %+v, %d of which rested", workers, mostKept, got, rested.Load())
					}
					if fault := got.Fault; (fault != nil) != (c.way != nil) {
						t.Errorf("%d workers, %d kept: got the fault %v", workers, mostKept, fault)
					} else if fault != nil && (!slices.Equal(fault.Way, c.way) || !errors.Is(fault.Err, errFour)) {
						t.Errorf("%d workers, %d kept: got %v after %q", workers, mostKept, fault.Err, fault.Way)
					}
				}
			}
		})
	}
}
