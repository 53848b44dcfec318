package figures

import (
	"fmt"
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

func TestMetric(t *testing.T) {
	text := "# HELP up whether it is up\nup_since 1\nup 2.5e+01\nworkers{controller=\"redis\"} 8\n"
	for series, want := range map[string]float64{"up": 25, `workers{controller="redis"}`: 8} {
		if got, err := Metric(text, series); got != want || err != nil {
			t.Errorf("%s: %v, %v", series, got, err)
		}
	}
	if _, err := Metric(text, "workers"); err == nil {
		t.Error("a series without its labels was found")
	}
}

func TestLongest(t *testing.T) {
	const histogram = "controller_runtime_reconcile_time_seconds"
	bucket := func(controller, bound string, passes int) string {
		return fmt.Sprintf("%s_bucket{controller=%q,le=%q} %d\n", histogram, controller, bound, passes)
	}
	text := bucket("redis", "0.005", 9) + bucket("memcached", "0.005", 3) + bucket("memcached", "0.25", 7) + bucket("memcached", "1.0", 7) +
		bucket("memcached", "+Inf", 7) + histogram + "_sum{controller=\"memcached\"} 0.3\n" + histogram + "_count{controller=\"memcached\"} 7\n"
	if got, err := Longest(text, "memcached"); got != 250*time.Millisecond || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := Longest(text, "redis"); err == nil {
		t.Error("a controller whose passes are not counted has a longest pass")
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
