package wire

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// maxMetrics bounds what is read of a server's metrics, in bytes. etcd's own are some 200 KiB.
const maxMetrics = 4 << 20

// The metrics that tell what a server has, by their names in server/etcdserver/metrics.go and server/storage/mvcc/metrics.go. The
// first names it in a label. The next two are the last entry that it knows to be committed, and the last that it has applied:
// after a start, etcd sets one of them or both.
const (
	metricID        = "etcd_server_id"
	metricCommitted = "etcd_server_proposals_committed_total"
	metricApplied   = "etcd_server_proposals_applied_total"
	metricRevision  = "etcd_debugging_mvcc_current_revision"
)

// LookAtWaiting asks a server that does not answer clients what data it has: etcd opens no port to them before it has seen a
// majority once, but tells its metrics at once. The view is empty if it does not tell who it is and
// its revision. Its Index is 0 before it has read an entry of its log.
func (s *Server) LookAtWaiting(ctx context.Context) membership.View {
	url := "http://" + net.JoinHostPort(s.address, fmt.Sprint(MetricsPort)) + "/metrics"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return membership.View{}
	}
	reply, err := s.http.Do(request)
	if err != nil {
		return membership.View{}
	}
	defer func() { _ = reply.Body.Close() }()
	return waitingView(io.LimitReader(reply.Body, maxMetrics))
}

// waitingView reads it from metrics in Prometheus' text format.
func waitingView(metrics io.Reader) membership.View {
	var view membership.View
	lines := bufio.NewScanner(metrics) // one that is longer than its 64 KiB ends it
	for lines.Scan() {
		series, value, _ := strings.Cut(lines.Text(), " ")
		name, label, _ := strings.Cut(series, "{")
		switch name {
		case metricID:
			text := strings.TrimSuffix(strings.TrimPrefix(label, `server_id="`), `"}`)
			if id, err := membership.ParseID(text); err == nil {
				view.ID = id
			}
		case metricCommitted, metricApplied:
			view.Index = max(view.Index, uint64(count(value)))
		case metricRevision:
			view.Revision = int64(count(value))
		}
	}
	if view.ID == 0 || view.Revision == 0 {
		return membership.View{}
	}
	view.Waits = true
	return view
}

// maxCount is the largest number that a metric's value holds exactly.
const maxCount = 1 << 53

// count reads a metric's value; 0 if it is none that counts.
func count(text string) float64 {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || !(value >= 0 && value <= maxCount) { // nor is one that is no number
		return 0
	}
	return value
}
