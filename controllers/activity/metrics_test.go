package activity

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
)

// TestMetrics checks that an end is counted once, however often it is seen, and that no object has a series of its own.
func TestMetrics(t *testing.T) {
	count := func() [3]float64 {
		return [3]float64{
			testutil.ToFloat64(finishedAttempts.WithLabelValues("Failed")), testutil.ToFloat64(finishedRuns.WithLabelValues("Failed")),
			testutil.ToFloat64(finishedAttempts.WithLabelValues("Succeeded")),
		}
	}
	w := newFakeCluster(t, 1)
	w.submit(egov1.ActivitySpec{Retries: 2})
	before := count()
	w.operator().runUntilQuiet()
	w.operator().runUntilQuiet()
	after := count()
	for i, want := range []float64{3, 1, 0} {
		if got := after[i] - before[i]; got != want {
			t.Errorf("%d: counted %v, want %v", i, got, want)
		}
	}
	if n := testutil.CollectAndCount(runDurations); n > 5 {
		t.Errorf("%d series for 5 ends", n)
	}

	w = newFakeCluster(t, 1)
	w.submit(egov1.ActivitySpec{Retries: 1, RetryPolicy: defaultRetryPolicy})
	before = count()
	w.operator().runUntilQuiet()
	cancel(w) // it ends with no further attempt
	w.operator().runUntilQuiet()
	after = count()
	if after[0]-before[0] != 1 || after[1]-before[1] != 1 {
		t.Errorf("cancelled between attempts: %v, then %v", before, after)
	}
}
