package converge

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// newStuckRegister makes a register that has been read.
func newStuckRegister(t *testing.T, clock clock.PassiveClock, objects ...StuckObject) *StuckRegister {
	t.Helper()
	r := &StuckRegister{Clock: clock, Read: func(context.Context) ([]StuckObject, error) { return objects, nil }}
	if err := r.ReadOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

func stuckAt(name string, uid types.UID, generation int64, at time.Time) StuckObject {
	return StuckObject{Kind: "Redis", Namespace: "a", Name: name, UID: uid, Generation: generation, LastSeen: at}
}

func TestAddStuck(t *testing.T) {
	for _, c := range []struct {
		reason string
		seen   []StuckObject
		want   string // name and restarts of each
	}{
		{"another object is one more", []StuckObject{stuckAt("x", "1", 1, noon), stuckAt("y", "2", 1, noon)}, "x1 y1"},
		{"the same is counted", []StuckObject{stuckAt("x", "1", 1, noon), stuckAt("y", "2", 1, noon), stuckAt("x", "1", 1, noon.Add(time.Hour))},
			"y1 x2"},
		{"a changed spec starts at one", []StuckObject{stuckAt("x", "1", 1, noon), stuckAt("x", "1", 2, noon)}, "x1"},
		{"another object of the name starts at one", []StuckObject{stuckAt("x", "1", 1, noon), stuckAt("x", "2", 1, noon)}, "x1"},
		{"one that has expired starts at one", []StuckObject{stuckAt("x", "1", 1, noon), stuckAt("x", "1", 1, noon.Add(stuckExpiry))}, "x1"},
		{"one that has expired is forgotten", []StuckObject{stuckAt("x", "1", 1, noon), stuckAt("y", "2", 1, noon.Add(stuckExpiry))}, "y1"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			var objects []StuckObject
			for _, object := range c.seen {
				objects = AddStuck(objects, object)
			}
			var got []string
			for _, object := range objects {
				got = append(got, object.Name+strconv.Itoa(object.Restarts))
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// The longest names of all, and more objects than fit: the text stays within its bound and can be read.
func TestStuckObjectsAreBounded(t *testing.T) {
	var objects []StuckObject
	for i := range 3 * maxStuckObjects {
		stuck := stuckAt(strings.Repeat("n", 247)+strconv.Itoa(100_000+i), types.UID(strings.Repeat("u", 36)), 1<<62, noon.Add(time.Duration(i)))
		stuck.Kind, stuck.Namespace = "OperatorCondition", strings.Repeat("s", 63)
		objects = AddStuck(objects, stuck)
	}
	text, err := FormatStuck(objects)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseStuck(text)
	if err != nil || len(got) != maxStuckObjects || !strings.HasSuffix(got[len(got)-1].Name, strconv.Itoa(100_000+3*maxStuckObjects-1)) {
		t.Errorf("%d objects of %d bytes, %v; want the latest %d", len(got), len(text), err, maxStuckObjects)
	}
	for reason, text := range map[string]string{
		"it is no list":   "x",
		"it is too long":  "[" + strings.Repeat(" ", maxStuckText) + "]",
		"it has too many": "[" + strings.Repeat("{},", maxStuckObjects) + "{}]",
	} {
		if got, err := ParseStuck(text); err == nil || got != nil {
			t.Errorf("%s: %d objects, %v", reason, len(got), err)
		}
	}
	if got, err := ParseStuck(""); err != nil || got != nil {
		t.Errorf("nothing was noted yet: %v, %v", got, err)
	}
}

func TestOneThatStoppedTwoLeadersIsHeld(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(noon)
	once, twice := stuckAt("once", "1", 7, noon), stuckAt("twice", "2", 7, noon)
	once.Restarts, twice.Restarts = 1, 2
	register := newStuckRegister(t, clock, once, twice)
	for _, c := range []struct {
		reason     string
		name       string
		uid        types.UID
		generation int64
		held       bool
	}{
		{"it is another", "other", "3", 7, false},
		{"one restart may be chance", "once", "1", 7, false},
		{"two are none", "twice", "2", 7, true},
		{"its spec has changed", "twice", "2", 8, false},
		{"it is another object of the name", "twice", "3", 7, false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			redis := &metav1.ObjectMeta{Namespace: "a", Name: c.name, UID: c.uid, Generation: c.generation}
			left, err := register.checkHeld("Redis", redis)
			if held := err != nil; held != c.held || held != (left == stuckExpiry) {
				t.Fatalf("%v for %s", err, left)
			}
			if _, err := register.checkHeld("EtcdCluster", redis); err != nil {
				t.Errorf("another kind: %v", err)
			}
			if !c.held {
				return
			}
			if p := toProblem(err); p.Reason != commonv1.ReasonReconcileStuck || p.Transient ||
				!strings.Contains(p.Message, "2026-01-02T12:00:00Z") {
				t.Errorf("it says %+v", p)
			}
			clock.SetTime(noon.Add(stuckExpiry))
			if _, err := register.checkHeld("Redis", redis); err != nil {
				t.Errorf("it has expired: %v", err)
			}
			clock.SetTime(noon)
		})
	}
}

// All other objects come first, once a process leads.
func TestStuckObjectsWaitForTheOthers(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(noon)
	register := &StuckRegister{Clock: clock, Read: func(context.Context) ([]StuckObject,
		error) {
		return []StuckObject{stuckAt("x", "1", 1, noon)}, nil
	}}
	kind := stuckOfKind{register, "Redis"}
	kind.read()
	delay := func(name string) time.Duration { return kind.delay(types.NamespacedName{Namespace: "a", Name: name}) }
	if delay("x") != othersFirst || delay("y") > 0 {
		t.Errorf("it waits for %s, another for %s", delay("x"), delay("y"))
	}
	clock.SetTime(noon.Add(othersFirst))
	if delay("x") > 0 {
		t.Errorf("it still waits for %s", delay("x"))
	}
}

// What cannot be read at the start is read later, and holds nothing up.
func TestARegisterThatCannotBeRead(t *testing.T) {
	asked, fails := 0, errors.New("no")
	register := &StuckRegister{Clock: clocktesting.NewFakePassiveClock(noon), Read: func(context.Context) ([]StuckObject, error) {
		asked++
		return []StuckObject{stuckAt("x", "1", 1, noon)}, fails
	}}
	redis, memcached := stuckOfKind{register, "Redis"}, stuckOfKind{register, "Memcached"}
	redis.read()
	memcached.read()
	key := types.NamespacedName{Namespace: "a", Name: "x"}
	if redis.contains(key) || asked != 1 {
		t.Errorf("known: %t, asked %d times", redis.contains(key), asked)
	}
	fails = nil
	for range 2 {
		if err := register.ReadOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if !redis.contains(key) || memcached.contains(key) || asked != 2 {
		t.Errorf("known: %t, as another kind: %t, asked %d times", redis.contains(key), memcached.contains(key), asked)
	}
	var none *StuckRegister
	stuckOfKind{none, "Redis"}.read()
	if err := none.ReadOnce(t.Context()); err != nil || (stuckOfKind{none, "Redis"}).contains(key) {
		t.Error("a manager that is run by hand has no register")
	}
}
