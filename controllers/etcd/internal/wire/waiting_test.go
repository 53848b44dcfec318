package wire

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

func TestARealServerWithoutAMajority(t *testing.T) {
	s := runEtcd(t, "127.77.0.3", "b=http://127.77.0.4:2380")
	var view membership.View
	eventually(t, "it does not tell what it has", func() bool {
		view = s.LookAtWaiting(t.Context())
		return view.Waits && view.Index > 0
	})
	if view.ID == 0 || view.Index != 2 || view.Revision != 1 { // its log names two members, and there are no keys
		t.Errorf("it tells %+v", view)
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
`
	unread := membership.View{Waits: true, ID: 0x8e9e05c52164694d, Revision: 77}
	want := membership.View{Waits: true, ID: 0x8e9e05c52164694d, Index: 12345678, Revision: 77}
	without := func(line string) string { return strings.ReplaceAll(all, line, "other") }
	for _, c := range []struct {
		name, text string
		want       membership.View
	}{
		{"all", all, want},
		{"committed is later", strings.Replace(all, "committed_total 0", "committed_total 2e7", 1), membership.View{Waits: true, ID: want.ID, Index: 2e7, Revision: 77}},
		{"no ID", without("etcd_server_id"), membership.View{}},
		{"no index", without("etcd_server_proposals_applied_total"), unread},
		{"no revision", without("etcd_debugging_mvcc_current_revision"), membership.View{}},
		{"an index that is no number", strings.Replace(all, "1.2345678e+07", "NaN", 1), unread},
		{"an index below zero", strings.Replace(all, "1.2345678e+07", "-1", 1), unread},
		{"an index beyond what a metric can tell", strings.Replace(all, "1.2345678e+07", "1e300", 1), unread},
		{"an ID that is none", strings.Replace(all, "8e9e05c52164694d", "8e9e05c52164694d8e9e05c52164694d", 1), membership.View{}},
		{"a line without end before it", strings.Repeat("x", 1<<20) + "\n" + all, membership.View{}},
		{"nothing", "", membership.View{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := waitingView(strings.NewReader(c.text)); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v", got)
			}
		})
	}
}
