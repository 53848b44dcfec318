package wire

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/launcher"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// maxMetrics and maxMetricLines bound what is read of a server's metrics, in bytes and lines. etcd 3.6 has 172 KiB in 1756 lines.
// Bytes alone do not bound the work: a line costs more than its length.
const (
	maxMetrics     = 1 << 20
	maxMetricLines = 10_000
)

// The metrics that say what a server has, by their names in server/etcdserver/metrics.go and server/storage/mvcc/metrics.go. The
// first names it in a label. The next two are the last entry that it knows to be committed, and the last that it has applied:
// after a start, etcd sets one of them or both.
const (
	metricID        = "etcd_server_id"
	metricCommitted = "etcd_server_proposals_committed_total"
	metricApplied   = "etcd_server_proposals_applied_total"
	metricRevision  = launcher.RevisionMetric
	// The version of the server, and the minor version that the members have agreed on: of several series, the one with the value 1 has it
	// (server/etcdserver/api/membership/metrics.go).
	metricVersion        = "etcd_server_version"
	metricClusterVersion = "etcd_cluster_version"
)

// LookAtWaiting asks a server that does not answer clients what data it has: etcd opens no port to them before it has seen a
// majority once, but reports its metrics at once. The view is empty if it does not say who it is and
// its revision. Its Index is 0 before it has read an entry of its log. The error says that its metrics are longer than etcd's are;
// a server that does not answer is none.
func (s *Server) LookAtWaiting(ctx context.Context) (membership.View, error) {
	url := "http://" + net.JoinHostPort(s.address, fmt.Sprint(MetricsPort)) + "/metrics"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return membership.View{}, err
	}
	reply, err := s.http.Do(request)
	if err != nil {
		return membership.View{}, nil
	}
	defer func() { _ = reply.Body.Close() }()
	return waitingView(reply.Body)
}

// waitingView reads it from metrics in Prometheus' text format.
func waitingView(metrics io.Reader) (membership.View, error) {
	var view membership.View
	limited := &io.LimitedReader{R: metrics, N: maxMetrics + 1}
	lines, read := bufio.NewScanner(limited), 0
	for lines.Scan() {
		if read++; read > maxMetricLines {
			return membership.View{}, fmt.Errorf("the server's metrics have more than %d lines", maxMetricLines)
		}
		series, value, _ := strings.Cut(lines.Text(), " ")
		name, label, _ := strings.Cut(series, "{")
		switch name {
		case metricID:
			if id, err := membership.ParseID(labelOf(label, "server_id")); err == nil {
				view.ID = id
			}
		case metricVersion:
			view.Version, _ = membership.ParseVersion(labelOf(label, "server_version")) // not known of a server that is not etcd 3
		case metricClusterVersion:
			if agreed := labelOf(label, "cluster_version"); count(value) == 1 && minorVersion.MatchString(agreed) {
				view.ClusterVersion = agreed
			}
		case metricCommitted, metricApplied:
			view.Index = max(view.Index, uint64(count(value)))
		case metricRevision:
			view.Revision = int64(count(value))
		}
	}
	switch {
	case errors.Is(lines.Err(), bufio.ErrTooLong):
		return membership.View{}, fmt.Errorf("the server's metrics have a line of more than %d bytes", bufio.MaxScanTokenSize)
	case limited.N <= 0:
		return membership.View{}, fmt.Errorf("the server's metrics have more than %d bytes", maxMetrics)
	}
	if lines.Err() != nil || view.ID == 0 || view.Revision == 0 { // the link broke, the time was over, or it is another server
		return membership.View{}, nil //nolint:nilerr // such a server is not known to wait
	}
	view.Waits = true
	return view, nil
}

// minorVersion is what members agree on; what else a server says would be shown in the status, where rules of the CRD read it.
var minorVersion = regexp.MustCompile(`^3\.[0-9]{1,3}$`)

// labelOf returns the value of a series' only label. It is given what follows the series' name and a brace.
func labelOf(label, name string) string {
	return strings.TrimSuffix(strings.TrimPrefix(label, name+`="`), `"}`)
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
