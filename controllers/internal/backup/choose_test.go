package backup

import (
	"strings"
	"testing"
	"time"
)

func TestChoice(t *testing.T) {
	day := func(d int) time.Time { return time.Date(2026, 1, d, 0, 0, 0, 0, time.UTC) }
	for name, c := range map[string]struct {
		choice  Choice
		history string
		want    int
		err     string
	}{
		"the latest":                   {Choice{}, "vvv", 3, ""},
		"the latest verified":          {Choice{}, "vvc", 2, ""},
		"an unverified one":            {Choice{AllowUnverified: true}, "vvc", 3, ""},
		"data alone is none":           {Choice{AllowUnverified: true}, "vcd", 2, ""},
		"before":                       {Choice{Before: day(3)}, "vvvv", 2, ""},
		"before a time between":        {Choice{Before: day(3).Add(time.Second)}, "vvvv", 3, ""},
		"before, verified":             {Choice{Before: day(3)}, "vcvv", 1, ""},
		"of just now":                  {Choice{}, "vvvvvvvvv", 9, ""},
		"before what is after now":     {Choice{Before: day(9)}, "vv.......v", 2, ""},
		"unverified after now":         {Choice{}, "vv.......c", 2, ""},
		"nothing is there":             {Choice{}, "", 0, "there is no backup: check store, namespace and name"},
		"nothing is verified":          {Choice{}, "cc", 0, "there is no verified backup, only 2 unverified ones"},
		"nothing was begun before":     {Choice{Before: day(1)}, "vv", 0, "there is no backup that was begun before 2026-01-01T00:00:00Z"},
		"nothing verified was, either": {Choice{Before: day(2)}, "cv", 0, "there is no verified backup that was begun before 2026-01-02"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.choice.Of(history(c.history), day(9))
			if c.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), c.err) || !IsPermanent(err) {
					t.Errorf("%+v, %v", got, err)
				}
				return
			}
			if err != nil || got.Time.Day() != c.want {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// A wrong clock is no reason to restore less than there is.
func TestTheLatestIsAfterNow(t *testing.T) {
	now := time.Date(2026, 1, 9, 0, 0, 0, 0, time.UTC)
	_, err := Choice{}.Of(history("vv.......v"), now)
	if err == nil || !strings.HasPrefix(err.Error(), "the latest backup 20260110T000000Z-") || IsPermanent(err) {
		t.Error(err)
	}
	if _, err := (Choice{}).Of(history("vv.......v"), now.AddDate(0, 0, 1).Add(-clockSkew)); err != nil {
		t.Error(err)
	}
}
