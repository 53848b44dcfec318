package wire

import (
	"errors"
	"strings"
	"testing"
)

func TestConfigure(t *testing.T) {
	p := start(t)
	if err := p.Configure(t.Context(), "client-output-buffer-limit", "normal 0 0 0 pubsub 32mb 8mb 60"); err != nil {
		t.Error(err)
	}
	err := p.Configure(t.Context(), "hz", "abc")
	if !IsRefusal(err) || !strings.Contains(RefusalText(err), "'hz'") {
		t.Errorf("a value that is none: %v", err)
	}
	if err := p.Configure(t.Context(), "no-such-thing", "1"); !IsRefusal(err) {
		t.Errorf("a directive that it does not have: %v", err)
	}
	if err := errors.New("no answer"); IsRefusal(err) || RefusalText(err) != "" {
		t.Error("silence is no refusal")
	}
}

func TestThePersistenceOfAServerIsSeen(t *testing.T) {
	p := start(t)
	if v := p.Look(t.Context()); v.AOF || v.Rewriting || !v.Rewritten || v.Saving {
		t.Errorf("%+v", v)
	}
	before := p.Look(t.Context()).SavedAt
	eventually(t, "a snapshot is taken", func() bool {
		return p.SaveSnapshot(t.Context()) == nil && p.Look(t.Context()).SavedAt > before
	})
	if err := p.Configure(t.Context(), "appendonly", "yes"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its first file is written", func() bool {
		v := p.Look(t.Context())
		return v.AOF && !v.Rewriting && v.Rewritten
	})
}
