// Package panics keeps a panic in a goroutine of ours from ending the process, and with it the work for everybody
// else. controller-runtime does the same for what runs in a worker.
package panics

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// recoveredPanics counts the panics that Recover caught. controller-runtime counts those of its workers as
// controller_runtime_reconcile_panics_total.
var recoveredPanics = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "mainstay_recovered_panics_total",
	Help: "Panics that were recovered outside of a reconciliation, by what was done. Each is a bug: the log has its stack.",
}, []string{"doing"})

// ErrRecovered is the error that a panic becomes.
var ErrRecovered = errors.New("a bug of the operator made it panic; its log has the stack")

func init() { metrics.Registry.MustRegister(recoveredPanics) }

// Recover runs do and turns a panic in it into an error. It logs the panic with its stack, and counts it under doing,
// which is a word of a closed set.
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
