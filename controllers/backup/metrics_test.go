package backup

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/once/oncetest"
)

// shown are the series of backups that the manager shows, without those that are zero. A histogram is its count and its sum.
func shown(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := map[string]float64{}
	for _, family := range families {
		name, ours := strings.CutPrefix(family.GetName(), "mainstay_backup_")
		if !ours {
			continue
		}
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			of := fmt.Sprintf("%s{%s}", name, strings.Join(labels, ","))
			if h := m.GetHistogram(); h != nil {
				series[of+" count"], series[of+" sum"] = float64(h.GetSampleCount()), h.GetSampleSum()
				continue
			}
			series[of] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	maps.DeleteFunc(series, func(_ string, value float64) bool { return value == 0 })
	return series
}

func resetMetrics() {
	for _, m := range []interface{ Reset() }{finishedRuns, failedAttempts, missedRuns, runDurations, lastSuccess} {
		m.Reset()
	}
}

// TestMetrics : each end is counted once, whichever operator looks again.
func TestMetrics(t *testing.T) {
	const (
		succeeded, failed = "runs_total{kind=EtcdBackup,phase=Succeeded}", "runs_total{kind=EtcdBackup,phase=Failed}"
		attempts          = "failed_attempts_total{kind=EtcdBackup}"
		missed            = "missed_total{kind=EtcdBackup}"
		count, sum        = "duration_seconds{kind=EtcdBackup} count", "duration_seconds{kind=EtcdBackup} sum"
		last              = "last_success_timestamp_seconds{kind=EtcdBackup,name=nightly,namespace=ns,verified="
	)
	started := float64(testTime.Unix())
	unverified := scenarios["once"]
	unverified.reason = "BackupWritten"
	unverified.change = func(b *databasev1alpha1.EtcdBackup) { b.Spec.Verify = ptr.To(false) }
	for name, c := range map[string]struct {
		scenario
		want map[string]float64
	}{
		"once":       {scenarios["once"], map[string]float64{succeeded: 1, count: 1, last + "true}": started, last + "false}": started}},
		"unverified": {unverified, map[string]float64{succeeded: 1, count: 1, last + "false}": started}},
		"a retry": {scenarios["a retry"],
			map[string]float64{succeeded: 1, attempts: 1, count: 1, sum: 10, last + "true}": started + 10, last + "false}": started + 10}},
		"refused":         {scenarios["refused"], map[string]float64{failed: 1, attempts: 2}},
		"never starts":    {scenarios["never starts"], map[string]float64{failed: 1, attempts: 1}},
		"nothing to read": {scenarios["nothing to read"], map[string]float64{missed: 1}},
		"by schedule": {scenarios["by schedule"],
			map[string]float64{succeeded: 3, count: 3, last + "true}": started + 10555, last + "false}": started + 10555}},
		"overlapping": {scenarios["overlapping"], map[string]float64{missed: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			resetMetrics()
			w := c.play(t, &oncetest.Crash{})
			if got := shown(t); !maps.Equal(got, c.want) {
				t.Errorf("got  %v\nwant %v", got, c.want)
			}
			before := shown(t)
			w.operator().runUntil(w.now)
			if got := shown(t); !maps.Equal(got, before) {
				t.Errorf("after another look %v\nbefore it %v", got, before)
			}
		})
	}
}

// TestMetricsOfWhatIsGone : nothing is shown of an object that is gone, and all of its namesakes. What was counted stays.
func TestMetricsOfWhatIsGone(t *testing.T) {
	resetMetrics()
	w := newFakeCluster(t, allWell)
	w.must(w.server.Create(context.Background(), newBackup()))
	w.operator().runUntil(w.now)
	for _, other := range []struct {
		kind Kind
		key  types.NamespacedName
	}{{Redis(), key}, {Etcd(), types.NamespacedName{Namespace: "other", Name: key.Name}},
		{Etcd(), types.NamespacedName{Namespace: key.Namespace, Name: "other"}}} {
		b := newBackup(func(b *databasev1alpha1.EtcdBackup) {
			b.Namespace, b.Name, b.Status.Last = other.key.Namespace, other.key.Name, itemNamed(testItem, false)
		})
		other.kind.exportLastSuccess(b)
	}
	all := shown(t)
	if len(all) != 2+3+2 { // of the object, of the others, and what is counted
		t.Fatal(all)
	}
	w.must(w.server.Delete(context.Background(), w.backup()))
	o := w.operator()
	o.Finalize = func(_ context.Context, key types.NamespacedName) error {
		o.Kind.forget(key)
		return nil
	}
	o.runUntil(w.now)
	got := slices.Sorted(maps.Keys(shown(t)))
	for name := range all {
		gone := strings.HasSuffix(name, "{kind=EtcdBackup,name=nightly,namespace=ns,verified=true}") ||
			strings.HasSuffix(name, "{kind=EtcdBackup,name=nightly,namespace=ns,verified=false}")
		if gone == slices.Contains(got, name) {
			t.Errorf("%s: gone %v", name, !gone)
		}
	}
}

// No attempt follows the last one, as there is nothing to read any more.
func TestAnAttemptIsCountedOnce(t *testing.T) {
	resetMetrics()
	w := newFakeCluster(t, storeStumbles)
	w.must(w.server.Create(context.Background(), newBackup()))
	o := w.operator()
	o.runUntil(w.now)
	w.absent = true
	o.runUntil(testTime.Add(2 * defaultDeadline))
	want := map[string]float64{"runs_total{kind=EtcdBackup,phase=Failed}": 1, "failed_attempts_total{kind=EtcdBackup}": 1}
	if got := shown(t); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
