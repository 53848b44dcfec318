package figures

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

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

// Metric returns the value of a series, by its name and labels, of a text in Prometheus' format.
func Metric(text, series string) (float64, error) {
	for line := range strings.Lines(text) {
		if value, found := strings.CutPrefix(line, series+" "); found {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, fmt.Errorf("there is no metric %s", series)
}

// Longest returns the lowest bound of the histogram of passes that none of a controller's passes exceeds.
func Longest(text, controller string) (time.Duration, error) {
	const histogram = "controller_runtime_reconcile_time_seconds"
	passes, err := Metric(text, fmt.Sprintf("%s_count{controller=%q}", histogram, controller))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(text) { // in the order of the bounds
		bucket, found := strings.CutPrefix(line, fmt.Sprintf("%s_bucket{controller=%q,le=\"", histogram, controller))
		if !found {
			continue
		}
		bound, number, _ := strings.Cut(bucket, "\"} ")
		within, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil {
			return 0, err
		}
		if within == passes {
			return time.ParseDuration(bound + "s")
		}
	}
	return 0, fmt.Errorf("%s has no bucket with all passes of %s", histogram, controller)
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
