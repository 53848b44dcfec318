package rotation

import (
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func TestAStageEndsInAWholeSecond(t *testing.T) {
	local := noon.Add(999 * time.Millisecond).In(time.FixedZone("east", 3600))
	if end := End(local, time.Minute); end != noon.Add(time.Minute) {
		t.Errorf("it ends at %s", end)
	}
}

func TestTheEndOfAStage(t *testing.T) {
	for _, c := range []struct {
		name  string
		end   time.Time
		ended bool
		after time.Duration
	}{
		{"it has not started", time.Time{}, false, 0},
		{"it lasts", noon.Add(time.Minute), false, time.Minute},
		{"it ends sooner than anything is looked at again", noon.Add(time.Millisecond), false, time.Second},
		{"it ends now", noon, true, time.Second},
		{"it has ended", noon.Add(-time.Hour), true, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			if ended := HasEnded(c.end, noon); ended != c.ended {
				t.Errorf("ended: %t", ended)
			}
			if after := RecheckAfter(c.end, noon, time.Second); after != c.after {
				t.Errorf("looked at again after %s", after)
			}
		})
	}
}
