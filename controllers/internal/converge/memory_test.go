package converge

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// counted starts with 10, and adds up what is dropped.
type counted struct {
	value   int
	dropped *int
}

func (c *counted) Init() { c.value = 10 }

func (c *counted) Drop() {
	if c.dropped != nil {
		*c.dropped += c.value
	}
}

func TestWhatIsKnownIsOfOneObject(t *testing.T) {
	var m Memory[counted]
	first, second, dropped := &corev1.Pod{}, &corev1.Pod{}, 0
	first.Namespace, first.Name, first.UID = "ns", "a", "first"
	second.Namespace, second.Name, second.UID = "ns", "a", "second"
	key := client.ObjectKeyFromObject(first)
	add := func(owner client.Object, n int) {
		known, unlock := m.Lock(owner)
		defer unlock()
		known.value, known.dropped = known.value+n, &dropped
	}
	expect := func(uid types.UID, want int) {
		t.Helper()
		got := 0
		if known := m.objects[key]; known != nil && known.uid == uid {
			got = known.value.value
		}
		if got != want {
			t.Errorf("%d is known of %s, not %d", got, uid, want)
		}
	}

	expect("first", 0)
	add(first, 1)
	add(first, 1)
	expect("first", 12)
	expect("second", 0)
	add(second, 5)
	expect("second", 15)
	expect("first", 0)
	if dropped != 12 {
		t.Errorf("%d was dropped, not what the first had", dropped)
	}
	m.Forget(key)
	m.Forget(key)
	expect("second", 0)
	if dropped != 27 {
		t.Errorf("%d was dropped, not what both had", dropped)
	}
}
