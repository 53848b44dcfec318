package backup

import (
	"errors"
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
		"the latest":               {Choice{}, "vvv", 3, ""},
		"the latest verified":      {Choice{}, "vvc", 2, ""},
		"an unverified one":        {Choice{AllowUnverified: true}, "vvc", 3, ""},
		"data alone is no backup":  {Choice{AllowUnverified: true}, "vcd", 2, ""},
		"before":                   {Choice{Before: day(3)}, "vvvv", 2, ""},
		"before a time between":    {Choice{Before: day(3).Add(time.Second)}, "vvvv", 3, ""},
		"before, verified":         {Choice{Before: day(3)}, "vcvv", 1, ""},
		"of just now":              {Choice{}, "vvvvvvvvv", 9, ""},
		"before what is after now": {Choice{Before: day(9)}, "vv.......v", 2, ""},
		"unverified after now":     {Choice{}, "vv.......c", 2, ""},
		"nothing is there":         {Choice{}, "", 0, "there is no backup: check store, namespace and name"},
		"nothing is verified":      {Choice{}, "cc", 0, "there is no verified backup, only 2 unverified ones"},
		"no backup was started before": {Choice{Before: day(1)}, "vv", 0,
			"there is no backup that was started before 2026-01-01T00:00:00Z"},
		"no verified backup was started before": {Choice{Before: day(2)}, "cv", 0,
			"there is no verified backup that was started before 2026-01-02"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.choice.Of(history(c.history), day(9), ofOneSource)
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
	_, err := Choice{}.Of(history("vv.......v"), now, ofOneSource)
	if err == nil || !strings.HasPrefix(err.Error(), "the latest backup 20260110T000000Z-") || IsPermanent(err) {
		t.Error(err)
	}
	if _, err := (Choice{}).Of(history("vv.......v"), now.AddDate(0, 0, 1).Add(-clockSkew), ofOneSource); err != nil {
		t.Error(err)
	}
}

// ofOneSource is the source of every item of a folder that one source has used.
func ofOneSource(Item) (string, error) { return "source", nil }

// Several sources may have made backups under the same name.
func TestChoiceOfASource(t *testing.T) {
	refused := errors.New("the store does not answer")
	for name, c := range map[string]struct {
		choice  Choice
		history string
		sources string // of the items, one letter each; '.' for a manifest that names none, '!' for one that cannot be read now
		want    int
		err     string
	}{
		"the latest backup's source is meant": {Choice{}, "vvv", "aab", 3, ""},
		"an unverified backup decides whose backups are meant": {Choice{}, "vvc", "aab", 0,
			"there is no verified backup of source b, only 1 unverified ones"},
		"an older verified backup of the latest source is chosen": {Choice{}, "vvvc", "abab", 2, ""},
		"an unverified backup may be used":                        {Choice{AllowUnverified: true}, "vvc", "aab", 3, ""},
		"an earlier source is asked for":                          {Choice{Source: "a"}, "vvv", "aab", 2, ""},
		"an earlier source is asked for and has nothing verified": {Choice{Source: "a"}, "cvv", "abb", 0,
			"there is no verified backup of source a, only 1 unverified ones"},
		"a source that has no backup is asked for":             {Choice{Source: "c"}, "vv", "ab", 0, "there is no backup of source c: check"},
		"the source before a time is that of the latest then":  {Choice{Before: at(3, 'v').Time}, "vvv", "aab", 2, ""},
		"a forged name that is not verified decides nothing":   {Choice{}, "vc", "a.", 1, ""},
		"a forged name is not of the source that is asked for": {Choice{Source: "a"}, "vv", "a.", 1, ""},
		"a verified backup of no known source is chosen":       {Choice{}, "vv", "a.", 2, ""},
		"a manifest that cannot be read now is waited for":     {Choice{}, "vv", "a!", 0, "the store does not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.choice.Of(history(c.history), midnight(9), func(item Item) (string, error) {
				switch source := c.sources[item.Time.Day()-1]; source {
				case '.':
					return "", nil
				case '!':
					return "", refused
				default:
					return string(source), nil
				}
			})
			if c.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), c.err) || IsPermanent(err) == errors.Is(err, refused) {
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

func TestANamedBackupIsOfTheSource(t *testing.T) {
	m := Manifest{Item: at(1, 'v').Name, SourceUID: "a", Source: Origin{UID: "a", Kind: "Redis", Namespace: "shop", Name: "cart"}}
	for _, source := range []string{"", "a"} {
		if err := (Choice{Source: source}).RefuseSource(m); err != nil {
			t.Errorf("%q is refused: %v", source, err)
		}
	}
	for want, change := range map[string]func(*Manifest){
		"is of Redis shop/cart with UID a, and source asks for UID b: ": func(*Manifest) {},
		"is of UID a, and source asks for UID b: ":                      func(m *Manifest) { m.Source = Origin{} },
		"is of an unknown source, and source asks for UID b: ":          func(m *Manifest) { m.SourceUID = "" },
	} {
		other := m
		change(&other)
		if err := (Choice{Source: "b"}).RefuseSource(other); err == nil || !IsPermanent(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
