package main

import (
	"net/http"
	"slices"
	"testing"
)

func TestTheBenchmarkRaisesTheRateLimitsOfBoth(t *testing.T) {
	parts := func() []part {
		return []part{controllerManagerPart(layout{}, http.DefaultClient), schedulerPart(layout{}, http.DefaultClient)}
	}
	for qps, want := range map[string]bool{"": false, "500": true} {
		t.Setenv("CONTROL_PLANE_QPS", qps)
		for _, p := range parts() {
			if got := slices.Contains(p.argv, "--kube-api-qps=500") && slices.Contains(p.argv, "--kube-api-burst=500"); got != want {
				t.Errorf("CONTROL_PLANE_QPS=%q: %v", qps, p.argv)
			}
		}
	}
}
