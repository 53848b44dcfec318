package panics

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func fallOver() error { panic("it fell over") }

func TestAPanicIsLoggedWithItsStackAndCounted(t *testing.T) {
	var logged strings.Builder
	log := funcr.New(func(prefix, args string) { logged.WriteString(prefix + args) }, funcr.Options{})
	before := testutil.ToFloat64(recoveredPanics.WithLabelValues("falling"))
	err := Recover(logr.NewContext(t.Context(), log), "falling", fallOver)
	if err == nil || !strings.HasPrefix(err.Error(), "falling: ") {
		t.Errorf("got %v", err)
	}
	for _, want := range []string{"it fell over", "panics.fallOver"} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("the log does not have %q: %s", want, logged.String())
		}
	}
	if got := testutil.ToFloat64(recoveredPanics.WithLabelValues("falling")); got != before+1 {
		t.Errorf("counted %v", got-before)
	}
}

func TestAnErrorIsGivenOn(t *testing.T) {
	want := errors.New("an error")
	if got := Recover(t.Context(), "trying", func() error { return want }); !errors.Is(got, want) {
		t.Errorf("got %v", got)
	}
}
