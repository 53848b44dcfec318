package converge

import "container/heap"

// orderedHeap holds values in the order that before defines. To add one, to take one out and to move one after a change costs
// O(log n) comparisons, to look at the first costs none.
type orderedHeap[T inHeap] struct {
	before func(a, b T) bool
	values []T
}

// inHeap is a value that knows where it is in its heap: at one less than what index points to, which is 0 for a value
// in none.
type inHeap interface{ index() *int }

func (o *orderedHeap[T]) contains(value T) bool { return *value.index() > 0 }

func (o *orderedHeap[T]) add(value T) { heap.Push(o, value) }

func (o *orderedHeap[T]) first() T { return o.values[0] }

func (o *orderedHeap[T]) remove(value T) { heap.Remove(o, *value.index()-1) }

// move puts a value that has changed to its new place.
func (o *orderedHeap[T]) move(value T) { heap.Fix(o, *value.index()-1) }

// Len is for package heap, as are Less, Swap, Push and Pop.
func (o *orderedHeap[T]) Len() int { return len(o.values) }

// Less compares two values.
func (o *orderedHeap[T]) Less(i, j int) bool { return o.before(o.values[i], o.values[j]) }

// Swap exchanges two values.
func (o *orderedHeap[T]) Swap(i, j int) {
	o.values[i], o.values[j] = o.values[j], o.values[i]
	*o.values[i].index(), *o.values[j].index() = i+1, j+1
}

// Push appends a value.
func (o *orderedHeap[T]) Push(value any) {
	o.values = append(o.values, value.(T))
	*o.values[len(o.values)-1].index() = len(o.values)
}

// Pop takes the last value off.
func (o *orderedHeap[T]) Pop() any {
	var none T
	last := o.values[len(o.values)-1]
	o.values[len(o.values)-1] = none // so that it can be collected
	o.values = o.values[:len(o.values)-1]
	*last.index() = 0
	return last
}
