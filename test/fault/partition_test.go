package fault

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestCuts(t *testing.T) {
	until := time.Date(2030, 1, 2, 3, 4, 5, 0, time.FixedZone("elsewhere", 3600))
	end := " --match time --datestop 2030-01-02T02:04:05 --match comment --comment mainstay-fault --jump DROP"
	for _, c := range []struct {
		peers, want []string
	}{
		{nil, []string{"INPUT ! --in-interface lo", "OUTPUT ! --out-interface lo"}},
		{[]string{"10.0.0.1", "10.0.0.2"}, []string{
			"INPUT --source 10.0.0.1", "OUTPUT --destination 10.0.0.1",
			"INPUT --source 10.0.0.2", "OUTPUT --destination 10.0.0.2"}},
	} {
		var got []string
		for _, rule := range partitionRules(until, c.peers) {
			line, bounded := strings.CutSuffix(strings.Join(rule, " "), end)
			if !bounded {
				t.Errorf("%v lacks the end time or our comment", rule)
			}
			got = append(got, line)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: %q, want %q", c.peers, got, c.want)
		}
	}
}
