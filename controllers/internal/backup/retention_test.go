package backup

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

func TestExpired(t *testing.T) {
	last := func(n int32) *commonv1.BackupRetention { return &commonv1.BackupRetention{KeepLast: ptr.To(n)} }
	days := func(n int) *commonv1.BackupRetention {
		return &commonv1.BackupRetention{KeepFor: &metav1.Duration{Duration: time.Duration(n) * 24 * time.Hour}}
	}
	both := func(n int32, d int) *commonv1.BackupRetention {
		return &commonv1.BackupRetention{KeepLast: last(n).KeepLast, KeepFor: days(d).KeepFor}
	}
	for name, c := range map[string]struct {
		rule   *commonv1.BackupRetention
		verify bool
		// history has a letter for each day from January 1st: c complete, v verified, d data alone, '.' nothing. Today is its last
		// day, or that of now.
		history string
		now     int
		want    string // the days that go
	}{
		"no rule":                              {nil, true, "dddddvvvvv", 0, ""},
		"nothing is there":                     {last(1), true, "", 1, ""},
		"the last of all":                      {last(2), false, "cccc", 0, "1 2"},
		"fewer than are kept":                  {last(5), false, "ccc", 0, ""},
		"the last verified ones":               {last(2), true, "vvvv", 0, "1 2"},
		"unverified ones do not count":         {last(2), true, "vvcvc", 0, "1 3"},
		"older unverified ones go":             {last(1), true, "ccv", 0, "1 2"},
		"of newer unverified ones, one stays":  {last(1), true, "vccc", 0, "2 3"},
		"none was ever verified":               {last(3), true, "ccc", 0, "1 2"},
		"verified ones count without verify":   {last(2), false, "vvcc", 0, "1"},
		"the last verified one stays":          {last(1), false, "vccc", 0, "2 3"},
		"younger ones stay":                    {days(2), false, "ccccc", 0, "1 2"},
		"to the day":                           {days(1), false, "ccc", 0, "1"},
		"the last verified one is old":         {days(1), true, "vvcc", 0, "1"},
		"all are old":                          {days(1), true, "vvcc", 30, "1 3"},
		"the newest of all stays":              {days(1), false, "cccc", 30, "1 2 3"},
		"either keeps":                         {both(1, 2), true, "vvvv", 0, "1"},
		"either keeps unverified ones":         {both(1, 2), true, "vccv", 0, "1"},
		"later ones stay":                      {last(1), true, "vvvvv", 3, "1 2"},
		"later ones do not count":              {last(2), true, "vvvvv", 3, "1"},
		"a clock that is behind deletes less":  {days(1), true, "vvvvv", 1, ""},
		"what a killed run left is old":        {last(9), true, "dd.v", 0, "1"},
		"what is written now has no manifest":  {last(1), true, "vdd", 0, ""},
		"data alone does not count":            {last(1), true, "vd", 0, ""},
		"data alone is not kept by being last": {last(1), true, "d..dv", 0, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Date(2026, 1, max(c.now, 1), 0, 0, 0, 0, time.UTC)
			if c.now == 0 {
				now = time.Date(2026, 1, len(c.history), 0, 0, 0, 0, time.UTC)
			}
			var items, gone = history(c.history), []string{}
			kept := items[:0:0]
			for _, item := range items {
				if c.history[item.Time.Day()-1] != '.' {
					kept = append(kept, item)
				}
			}
			for _, item := range Expired(kept, c.rule, c.verify, now) {
				gone = append(gone, fmt.Sprint(item.Time.Day()))
			}
			if got := strings.Join(gone, " "); got != c.want {
				t.Errorf("%q goes, and not %q", got, c.want)
			}
		})
	}
}

// Whatever the rule, the newest verified one stays.
func TestTheNewestVerifiedStays(t *testing.T) {
	states := "cvd"
	for n := range 3 * 3 * 3 * 3 * 3 {
		text := ""
		for left := n; len(text) < 5; left /= 3 {
			text += states[left%3 : left%3+1]
		}
		newest := strings.LastIndexByte(text, 'v') + 1
		for _, verify := range []bool{true, false} {
			for now := 1; now < 9; now++ {
				rule := &commonv1.BackupRetention{KeepLast: ptr.To(int32(1)), KeepFor: &metav1.Duration{Duration: time.Minute}}
				for _, item := range Expired(history(text), rule, verify, time.Date(2026, 1, now, 0, 0, 0, 0, time.UTC)) {
					if item.Time.Day() == newest {
						t.Errorf("of %s, %d goes on day %d", text, newest, now)
					}
				}
			}
		}
	}
}
