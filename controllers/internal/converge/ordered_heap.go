package converge

import "container/heap"

// orderedHeap holds values in the order of before. To add one, to take one out and to move one after a change costs
// O(log n) comparisons, to look at the first costs none.
type orderedHeap[T inHeap] struct {
	before func(a, b T) bool
	values []T
}

// inHeap is a value that knows where it is in its heap: at one less than what index points to, which is 0 for a value
// in none.
type inHeap interface{ index() *int }

func (h *orderedHeap[T]) contains(value T) bool { return *value.index() > 0 }

func (h *orderedHeap[T]) add(value T) { heap.Push(h, value) }

func (h *orderedHeap[T]) first() T { return h.values[0] }

func (h *orderedHeap[T]) remove(value T) { heap.Remove(h, *value.index()-1) }

// move puts a value that has changed to its new place.
func (h *orderedHeap[T]) move(value T) { heap.Fix(h, *value.index()-1) }

// Len is for package heap, as are Less, Swap, Push and Pop.
func (h *orderedHeap[T]) Len() int { return len(h.values) }

// Less compares two values.
func (h *orderedHeap[T]) Less(i, j int) bool { return h.before(h.values[i], h.values[j]) }

// Swap exchanges two values.
func (h *orderedHeap[T]) Swap(i, j int) {
	h.values[i], h.values[j] = h.values[j], h.values[i]
	*h.values[i].index(), *h.values[j].index() = i+1, j+1
}

// Push appends a value.
func (h *orderedHeap[T]) Push(value any) {
	h.values = append(h.values, value.(T))
	*h.values[len(h.values)-1].index() = len(h.values)
}

// Pop takes the last value off.
func (h *orderedHeap[T]) Pop() any {
	var none T
	last := h.values[len(h.values)-1]
	h.values[len(h.values)-1] = none // so that it can be collected
	h.values = h.values[:len(h.values)-1]
	*last.index() = 0
	return last
}
