// Package explore searches what may happen in a model, breadth first, so that a fault is shown by the shortest way to it.
package explore

import (
	"cmp"
	"iter"
	"os"
	"runtime"
	"slices"
	"sync"
)

// Model is what a search explores: states S, and the moves M that lead from one state to the next. Each worker of a search has its own,
// which may keep what it has computed.
type Model[S, M any] interface {
	// Successors yields each move from a state, and the state that it leads to.
	Successors(S) iter.Seq2[M, S]
	// Apply returns the state that a move leads to, as Successors has yielded it.
	Apply(S, M) S
	// Key is the same for two states if all that may follow is the same.
	Key(S) uint64
	// Check returns the promise that a state breaks, and nil if it keeps all of them.
	Check(S) error
	// CheckRest returns the promise that is broken after a state when nothing but time follows.
	CheckRest(S) error
}

// Search is one search from a start.
type Search[S, M any] struct {
	Start S
	// NewModel returns a worker's model.
	NewModel func() Model[S, M]
	// Limit ends the search: once so many states are found, no further state is expanded; 0 is no limit.
	Limit int
	// FinishesDepth says that the depth at which the limit is reached is expanded to its end.
	FinishesDepth bool
	// RestEvery says of how many states one is checked at rest.
	RestEvery int

	mostKept int // states of one depth
	kept     int
	workers  []*worker[S, M]
	seen     map[uint64]struct{}
	origins  []origin[M]
	finished bool
	fault    *Fault[M]
}

// Result is what a search has found.
type Result[M any] struct {
	States, Depth int
	Fault         *Fault[M] // nil if there is none
}

// Fault is a promise that is broken, and the shortest way to a state that breaks it.
type Fault[M any] struct {
	Err error
	Way []M
}

// origin is how a state was reached first.
type origin[M any] struct {
	from int32
	move M
}

// found is a state and its place among the origins. Without its state it is played again from the start.
type found[S any] struct {
	place int32
	state S
	kept  bool
}

// next is a state that a move leads to, and that no earlier batch has found; or the promise that the move breaks.
type next[S, M any] struct {
	move   M
	state  S
	key    uint64
	broken error
}

// outcome is what a worker has found from one state.
type outcome[S, M any] struct {
	atRest error
	next   []next[S, M]
}

const (
	// mostKept are the states of one depth that are kept, a few KB each. Those of all depths would fill the memory.
	mostKept = 1 << 15
	// batchSize is how many states each worker expands until all that they have found is put together, in order: what a search finds
	// does not depend on the number of workers.
	batchSize = 64
	// fewStates are those of a search that is not complete.
	fewStates = 2000
)

// IsFull reports whether searches are complete, which takes minutes: FULL=1 or LONG=1 is set.
func IsFull() bool { return os.Getenv("FULL") != "" || os.Getenv("LONG") != "" }

// Every returns how far apart the samples are where each nth of all is tried, and 1 if searches are complete.
func Every(nth int) int {
	if IsFull() {
		return 1
	}
	return nth
}

// Run searches. Where searches are not complete, it ends soon.
func (s *Search[S, M]) Run() Result[M] {
	if s.mostKept = cmp.Or(s.mostKept, mostKept); !IsFull() && (s.Limit == 0 || s.Limit > fewStates) {
		s.Limit, s.FinishesDepth = fewStates, false
	}
	for range runtime.GOMAXPROCS(0) {
		s.workers = append(s.workers, &worker[S, M]{model: s.NewModel(), path: []found[S]{{state: s.Start}}})
	}
	s.seen, s.origins = map[uint64]struct{}{s.workers[0].model.Key(s.Start): {}}, []origin[M]{{from: -1}}
	frontier, depth := []found[S]{{state: s.Start, kept: true}}, 0
	for ; len(frontier) > 0 && s.fault == nil && !s.isFull(); depth++ {
		frontier = s.deepen(frontier)
	}
	s.finished = true
	s.deepen(frontier)
	return Result[M]{States: len(s.origins), Depth: depth, Fault: s.fault}
}

func (s *Search[S, M]) isFull() bool { return s.Limit > 0 && len(s.origins) >= s.Limit }

func (s *Search[S, M]) isSample(place int32) bool { return (int(place)+1)%s.RestEvery == 0 }

// deepen expands the states of a depth, and returns those of the next. Once the search is finished, what is left is checked at rest.
func (s *Search[S, M]) deepen(frontier []found[S]) []found[S] {
	var deeper []found[S]
	s.kept = 0
	for len(frontier) > 0 && s.fault == nil {
		batch := frontier[:min(len(frontier), batchSize*len(s.workers))]
		for i, o := range s.expandAll(batch) {
			if o.atRest != nil {
				s.fail(o.atRest, s.path(batch[i].place))
			}
			s.finished = s.finished || s.isFull() && !s.FinishesDepth
			if !s.finished {
				deeper = s.add(batch[i].place, o.next, deeper)
			}
		}
		clear(batch) // the states may be freed
		frontier = frontier[len(batch):]
	}
	return deeper
}

// expandAll has each worker expand some of the states.
func (s *Search[S, M]) expandAll(batch []found[S]) []outcome[S, M] {
	outcomes, share := make([]outcome[S, M], len(batch)), (len(batch)+len(s.workers)-1)/len(s.workers)
	var all sync.WaitGroup
	for i, worker := range s.workers {
		all.Go(func() {
			for j := i * share; j < min(len(batch), (i+1)*share); j++ {
				outcomes[j] = s.expand(worker, batch[j])
			}
		})
	}
	all.Wait()
	return outcomes
}

// expand a state, and check it at rest if it is a sample.
func (s *Search[S, M]) expand(w *worker[S, M], from found[S]) (o outcome[S, M]) {
	if s.finished && !s.isSample(from.place) {
		return o
	}
	if !from.kept {
		from.state = w.play(s.path(from.place))
	}
	if s.isSample(from.place) {
		o.atRest = w.model.CheckRest(from.state)
	}
	if s.finished {
		return o
	}
	for move, state := range w.model.Successors(from.state) {
		if err := w.model.Check(state); err != nil {
			o.next = append(o.next, next[S, M]{move: move, broken: err})
			continue
		}
		key := w.model.Key(state)
		if _, known := s.seen[key]; !known {
			o.next = append(o.next, next[S, M]{move: move, state: state, key: key})
		}
	}
	return o
}

// add the states that follow one, unless they were found from another.
func (s *Search[S, M]) add(from int32, all []next[S, M], deeper []found[S]) []found[S] {
	for _, n := range all {
		if n.broken != nil {
			s.fail(n.broken, append(s.path(from), hop[M]{move: n.move}))
			return deeper
		}
		if _, known := s.seen[n.key]; known {
			continue
		}
		s.seen[n.key] = struct{}{}
		f := found[S]{place: int32(len(s.origins)), kept: s.kept < s.mostKept} //nolint:gosec // far fewer
		s.origins = append(s.origins, origin[M]{from, n.move})
		if f.kept {
			s.kept++
			f.state = n.state
		}
		deeper = append(deeper, f)
	}
	return deeper
}

// fail keeps the first fault.
func (s *Search[S, M]) fail(err error, way []hop[M]) {
	if s.fault != nil {
		return
	}
	s.fault = &Fault[M]{Err: err}
	for _, h := range way {
		s.fault.Way = append(s.fault.Way, h.move)
	}
}

// hop is the move to a place on the way to a state.
type hop[M any] struct {
	place int32
	move  M
}

// path is the way from the start to a place.
func (s *Search[S, M]) path(place int32) []hop[M] {
	var way []hop[M]
	for ; place > 0; place = s.origins[place].from {
		way = append(way, hop[M]{place, s.origins[place].move})
	}
	slices.Reverse(way)
	return way
}

// worker expands states. It keeps those on the way to the one that it played last: the next one is most often a sibling.
type worker[S, M any] struct {
	model Model[S, M]
	path  []found[S]
}

// play returns the state at the end of a way.
func (w *worker[S, M]) play(way []hop[M]) S {
	same := 0
	for same < len(way) && same+1 < len(w.path) && w.path[same+1].place == way[same].place {
		same++
	}
	w.path = w.path[:same+1]
	for _, h := range way[same:] {
		state := w.model.Apply(w.path[len(w.path)-1].state, h.move)
		w.path = append(w.path, found[S]{place: h.place, state: state})
	}
	return w.path[len(w.path)-1].state
}
