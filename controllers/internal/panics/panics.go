// Package panics keeps one in a goroutine of ours from ending the process, and with it the work for
// everybody else. controller-runtime does so for what runs in a worker.
package panics

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// recoveredPanics counts them. controller-runtime counts those of its workers as
// controller_runtime_reconcile_panics_total.
var recoveredPanics = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "mainstay_recovered_panics_total",
	Help: "Panics that were recovered beside a reconciliation, by what was done. Each is a bug: the log has its stack.",
}, []string{"doing"})

// ErrRecovered is what a panic comes to.
var ErrRecovered = errors.New("a bug of the operator made it panic; its log has the stack")

func init() { metrics.Registry.MustRegister(recoveredPanics) }

// Recover runs do and gives the error that a panic in it comes to. The panic is logged with its
// stack, and counted by what was done, which is a word of a closed set.
func Recover(ctx context.Context, doing string, do func() error) (err error) {
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		recoveredPanics.WithLabelValues(doing).Inc()
		for _, handle := range utilruntime.PanicHandlers {
			handle(ctx, cause)
		}
		err = fmt.Errorf("%s: %w", doing, ErrRecovered)
	}()
	return do()
}
