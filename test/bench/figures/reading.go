package figures

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/mainstay-operator/mainstay-operator/test/audit"
)

// Count the requests of a contestant about the objects of one namespace, also those that failed. What fills a cache is about all
// namespaces, and does not count.
func Count(requests []audit.Request, namespace string) Requests {
	var counted Requests
	for _, r := range requests {
		switch {
		case r.Namespace != namespace || r.Verb == "watch":
		case r.Verb == "get" || r.Verb == "list":
			counted.Reads++
		case r.Resource == "events":
			counted.Events++
		default:
			counted.Writes++
		}
	}
	return counted
}

// Total of all requests.
func (r Requests) Total() int { return r.Writes + r.Events + r.Reads }

// Metrics are those that a manager serves, by name.
type Metrics map[string]*dto.MetricFamily

// ReadMetrics reads a text in Prometheus' format.
func ReadMetrics(text io.Reader) (Metrics, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(text)
}

// of a controller; the one without labels, if the controller is "".
func (m Metrics) of(controller, name string) (*dto.Metric, error) {
	for _, metric := range m[name].GetMetric() {
		if len(metric.GetLabel()) == 0 && controller == "" || slices.ContainsFunc(metric.GetLabel(), func(l *dto.LabelPair) bool {
			return l.GetName() == "controller" && l.GetValue() == controller
		}) {
			return metric, nil
		}
	}
	return nil, fmt.Errorf("there is no metric %s of controller %q", name, controller)
}

// Value of a gauge or a counter.
func (m Metrics) Value(controller, name string) (float64, error) {
	metric, err := m.of(controller, name)
	return metric.GetGauge().GetValue() + metric.GetCounter().GetValue(), err // it has only one of them
}

// Longest returns the lowest bound of the histogram of passes that none of a controller's passes exceeds.
func (m Metrics) Longest(controller string) (time.Duration, error) {
	metric, err := m.of(controller, "controller_runtime_reconcile_time_seconds")
	if err != nil {
		return 0, err
	}
	passes := metric.GetHistogram()
	for _, bucket := range passes.GetBucket() { // in the order of the bounds
		if bucket.GetCumulativeCount() == passes.GetSampleCount() && !math.IsInf(bucket.GetUpperBound(), 1) {
			return time.Duration(bucket.GetUpperBound() * float64(time.Second)), nil
		}
	}
	return 0, fmt.Errorf("no bucket of the histogram has all passes of controller %q", controller)
}

// RateLimits describes those that kube-controller-manager and kube-scheduler have by their arguments.
func RateLimits(controllerManager, scheduler []string) string {
	flag := func(arguments []string, name, byDefault string) string {
		i := slices.IndexFunc(arguments, func(argument string) bool { return strings.HasPrefix(argument, name+"=") })
		if i < 0 {
			return byDefault
		}
		return strings.TrimPrefix(arguments[i], name+"=")
	}
	return fmt.Sprintf("For both, each controller of kube-controller-manager may send %s requests a second, and %s at once; "+
		"kube-scheduler %s and %s. The defaults are 20, 30, 50 and 100.",
		flag(controllerManager, "--kube-api-qps", "20"), flag(controllerManager, "--kube-api-burst", "30"),
		flag(scheduler, "--kube-api-qps", "50"), flag(scheduler, "--kube-api-burst", "100"))
}
