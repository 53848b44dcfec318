package converge

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Memory keeps what a kind knows of each of its objects and may forget at any time: it is empty after a restart. What is
// known belongs to one UID: another object of the same name starts with nothing. The zero Memory is ready for use.
//
// A T that cannot start as its zero value has a method Init on *T. One that holds more than memory, such as goroutines, has
// a method Drop on *T, which is called when it is forgotten.
type Memory[T any] struct {
	mu      sync.Mutex
	objects map[types.NamespacedName]*remembered[T]
}

type remembered[T any] struct {
	uid   types.UID
	value T
}

// Lock returns what is known of the object, for the caller alone until it calls unlock. All objects share the lock, so
// a caller that has it must not wait for anything.
func (m *Memory[T]) Lock(owner client.Object) (known *T, unlock func()) {
	m.mu.Lock()
	key := client.ObjectKeyFromObject(owner)
	if last := m.objects[key]; last != nil && last.uid == owner.GetUID() {
		return &last.value, m.mu.Unlock
	}
	m.drop(key)
	if m.objects == nil {
		m.objects = map[types.NamespacedName]*remembered[T]{}
	}
	first := &remembered[T]{uid: owner.GetUID()}
	if needy, is := any(&first.value).(interface{ Init() }); is {
		needy.Init()
	}
	m.objects[key] = first
	return &first.value, m.mu.Unlock
}

// Of returns what is known of the object, for its pass: only one pass of an object runs at a time. What others read or change
// meanwhile needs its own lock.
func (m *Memory[T]) Of(owner client.Object) *T {
	known, unlock := m.Lock(owner)
	unlock()
	return known
}

// Forget drops what is known of an object that is gone.
func (m *Memory[T]) Forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(key)
}

// drop does nothing if nothing is known. It wants the lock held.
func (m *Memory[T]) drop(key types.NamespacedName) {
	last := m.objects[key]
	if last == nil {
		return
	}
	if held, is := any(&last.value).(interface{ Drop() }); is {
		held.Drop()
	}
	delete(m.objects, key)
}
