package figures

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mainstay-operator/mainstay-operator/test/audit"
)

func TestCount(t *testing.T) {
	got := Count([]audit.Request{
		{Verb: "patch", Resource: "services", Namespace: "bench"},
		{Verb: "create", Resource: "configmaps", Namespace: "bench", Code: 409},
		{Verb: "create", Resource: "events", Namespace: "bench"},
		{Verb: "get", Resource: "secrets", Namespace: "bench"},
		{Verb: "watch", Resource: "services", Namespace: "bench"},
		{Verb: "list", Resource: "services"},
		{Verb: "update", Resource: "leases", Namespace: "mainstay-operator-system"},
	}, "bench")
	if want := (Requests{Writes: 2, Events: 1, Reads: 1}); got != want {
		t.Errorf("%+v", got)
	}
	if got.Total() != 4 {
		t.Errorf("%d in all", got.Total())
	}
}

func TestMetrics(t *testing.T) {
	const passes = "controller_runtime_reconcile_time_seconds"
	bucket := func(controller, bound string, number int) string {
		return fmt.Sprintf("%s_bucket{controller=%q,le=%q} %d\n", passes, controller, bound, number)
	}
	sums := func(controller string, number int) string {
		return fmt.Sprintf("%s_sum{controller=%q} 9\n%s_count{controller=%q} %d\n", passes, controller, passes, controller, number)
	}
	m, err := ReadMetrics(strings.NewReader("# TYPE up gauge\nup 2.5e+01\n# TYPE workers gauge\nworkers{controller=\"redis\"} 8\n" +
		"# TYPE cycles counter\ncycles 7\n# TYPE " + passes + " histogram\n" +
		bucket("redis", "0.005", 8) + bucket("redis", "+Inf", 9) + sums("redis", 9) +
		bucket("memcached", "0.005", 3) + bucket("memcached", "0.25", 7) + bucket("memcached", "+Inf", 7) + sums("memcached", 7)))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		controller, name string
		want             float64
		found            bool
	}{
		{"", "up", 25, true},
		{"", "cycles", 7, true},
		{"redis", "workers", 8, true},
		{"", "workers", 0, false},
		{"redis", "up", 0, false},
	} {
		if got, err := m.Value(row.controller, row.name); got != row.want || (err == nil) != row.found {
			t.Errorf("%s of %q: %v, %v", row.name, row.controller, got, err)
		}
	}
	if got, err := m.Longest("memcached"); got != 250*time.Millisecond || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	for _, unknown := range []string{"redis", "activity"} { // one beyond all bounds, and none at all
		if got, err := m.Longest(unknown); err == nil {
			t.Errorf("the longest pass of %s is %v", unknown, got)
		}
	}
}

func TestRateLimits(t *testing.T) {
	for want, arguments := range map[string][]string{
		"For both, each controller of kube-controller-manager may send 20 requests a second, and 30 at once; kube-scheduler 50 and 100. " +
			"The defaults are 20, 30, 50 and 100.": nil,
		"For both, each controller of kube-controller-manager may send 200 requests a second, and 300 at once; kube-scheduler 200 and 300. " +
			"The defaults are 20, 30, 50 and 100.": {"--leader-elect=false", "--kube-api-qps=200", "--kube-api-burst=300"},
	} {
		if got := RateLimits(arguments, arguments); got != want {
			t.Errorf("%q", got)
		}
	}
}
