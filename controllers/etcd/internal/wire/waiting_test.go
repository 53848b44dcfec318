package wire

import (
	"bufio"
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

func TestARealServerWithoutAMajority(t *testing.T) {
	s := runEtcd(t, "127.77.0.3", "b=http://127.77.0.4:2380")
	var view membership.View
	eventually(t, "it does not say what it has", func() bool {
		var err error
		if view, err = s.LookAtWaiting(t.Context()); err != nil {
			t.Fatal(err)
		}
		return view.Waits && view.Index > 0
	})
	// Its log names two members, there are no keys, and no leader has set a version for all.
	if view.ID == 0 || view.Index != 2 || view.Revision != 1 || view.Version.Minor < membership.FirstMinor || view.ClusterVersion != "" {
		t.Errorf("it shows %+v", view)
	}
	ctx, done := context.WithTimeout(t.Context(), readTimeout) // it takes connections, and never answers
	defer done()
	if s.Look(ctx).Answered {
		t.Error("it answers clients")
	}
}

func TestMetricsOfAServerThatWaits(t *testing.T) {
	const all = `# TYPE etcd_server_id gauge
etcd_server_id{server_id="8e9e05c52164694d"} 1
etcd_server_proposals_applied_total 1.2345678e+07
etcd_server_proposals_committed_total 0
etcd_debugging_mvcc_current_revision 77
etcd_server_version{server_version="3.6.16"} 1
etcd_cluster_version{cluster_version="3.0"} 0
etcd_cluster_version{cluster_version="3.6"} 1
`
	version := membership.Version{Minor: 6, Patch: 16}
	unread := membership.View{Waits: true, ID: 0x8e9e05c52164694d, Revision: 77, Version: version, ClusterVersion: "3.6"}
	want := unread
	want.Index = 12345678
	later, unversioned, notAgreed := want, want, want
	later.Index, unversioned.Version, notAgreed.ClusterVersion = 2e7, membership.Version{}, ""
	without := func(line string) string { return strings.ReplaceAll(all, line, "other") }
	for _, c := range []struct {
		name, text string
		want       membership.View
	}{
		{"all", all, want},
		{"committed is later", strings.Replace(all, "committed_total 0", "committed_total 2e7", 1),
			later},
		{"no version", without("etcd_server_version"), unversioned},
		{"a version that is none", strings.Replace(all, "3.6.16", "latest", 1), unversioned},
		{"no version that the members have agreed on", without("etcd_cluster_version"), notAgreed},
		{"one that is no version", strings.Replace(all, `cluster_version="3.6"`, `cluster_version="x"`, 1), notAgreed},
		{"no ID", without("etcd_server_id"), membership.View{}},
		{"no index", without("etcd_server_proposals_applied_total"), unread},
		{"no revision", without("etcd_debugging_mvcc_current_revision"), membership.View{}},
		{"an index that is no number", strings.Replace(all, "1.2345678e+07", "NaN", 1), unread},
		{"an index below zero", strings.Replace(all, "1.2345678e+07", "-1", 1), unread},
		{"an index beyond what a metric can show", strings.Replace(all, "1.2345678e+07", "1e300", 1), unread},
		{"an ID that is none", strings.Replace(all, "8e9e05c52164694d", "8e9e05c52164694d8e9e05c52164694d", 1), membership.View{}},
		{"nothing", "", membership.View{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := waitingView(strings.NewReader(c.text)); !reflect.DeepEqual(got, c.want) || err != nil {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

// flood gives a text over and over, and counts what is read of it.
type flood struct {
	text string
	read int
}

func (f *flood) Read(b []byte) (int, error) {
	n := 0
	for n < len(b) {
		n += copy(b[n:], f.text[(f.read+n)%len(f.text):])
	}
	f.read += n
	return n, nil
}

// What a server sends costs no more than its bound, in bytes and in lines: it may be any program.
func TestMetricsAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		text, says string
		most       int // bytes that are read
	}{
		"newlines":                  {"\n", "more than 10000 lines", maxMetricLines + bufio.MaxScanTokenSize},
		"short lines":               {"a 1\n", "more than 10000 lines", 4*maxMetricLines + bufio.MaxScanTokenSize},
		"metrics that are asked of": {metricApplied + " 1\n", "more than 10000 lines", 40*maxMetricLines + bufio.MaxScanTokenSize},
		"long lines":                {strings.Repeat("x", 1<<15) + "\n", "more than 1048576 bytes", maxMetrics + 1},
		"a line without an end":     {"x", "a line of more than 65536 bytes", 2 * bufio.MaxScanTokenSize},
	} {
		t.Run(name, func(t *testing.T) {
			stream := &flood{text: c.text}
			view, err := waitingView(stream)
			if !reflect.DeepEqual(view, membership.View{}) || err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%+v, %v", view, err)
			}
			if stream.read > c.most {
				t.Errorf("it has read %d bytes, and %d are allowed", stream.read, c.most)
			}
		})
	}
}

// An etcd with many more series than one has today is still read.
func TestMetricsMayGrow(t *testing.T) {
	metrics := strings.Repeat("grpc_server_handled_total{grpc_code=\"OK\",grpc_service=\"etcdserverpb.KV\",grpc_type=\"unary\"} 0\n", 9_000) +
		metricID + `{server_id="1"} 1` + "\n" + metricRevision + " 7\n"
	if view, err := waitingView(strings.NewReader(metrics)); view.ID != 1 || view.Revision != 7 || err != nil {
		t.Errorf("%+v, %v", view, err)
	}
}
