package converge

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
)

// slowMapper answers each question after a minute, as an API server does that is overloaded.
type slowMapper struct {
	meta.RESTMapper
	clock *clocktesting.FakePassiveClock
	asked int
	err   error
}

func (s *slowMapper) RESTMapping(schema.GroupKind, ...string) (*meta.RESTMapping, error) {
	s.asked++
	s.clock.SetTime(s.clock.Now().Add(time.Minute))
	return nil, s.err
}

// A question has no context. If each pass that waits for the lock asked again, the last of 32 would wait for half an hour.
func TestManyPassesAskForATypeOnce(t *testing.T) {
	gvk := schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"}
	fails := errors.New("the server was unable to return a response in the time allotted")
	for _, c := range []struct {
		reason  string
		err     error
		present bool
		wantErr error
	}{
		{"it cannot be found out", fails, false, fails},
		{"the cluster lacks it", &meta.NoKindMatchError{GroupKind: gvk.GroupKind()}, false, nil},
		{"it is there", nil, true, nil},
	} {
		t.Run(c.reason, func(t *testing.T) {
			clock := clocktesting.NewFakePassiveClock(noon)
			mapper := &slowMapper{clock: clock, err: c.err}
			apis := &OptionalAPIs{Mapper: mapper, Clock: clock}
			for range 32 {
				if present, err := apis.isPresent(gvk, true); present != c.present || !errors.Is(err, c.wantErr) {
					t.Fatalf("present: %t, %v", present, err)
				}
			}
			if mapper.asked != 1 {
				t.Errorf("asked %d times", mapper.asked)
			}
			clock.SetTime(clock.Now().Add(missingAPIRecheck))
			mapper.err = nil
			if present, err := apis.isPresent(gvk, true); !present || err != nil {
				t.Errorf("it is looked for again: %t, %v", present, err)
			}
		})
	}
}
