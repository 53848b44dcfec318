package upgradeable

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// heldObjects counts the objects that hold an upgrade now. Only the leader counts, and only where OLM asks.
var heldObjects = prometheus.NewGauge(prometheus.GaugeOpts{
	Name: "mainstay_upgrade_holders",
	Help: "Objects with a change under way for which an upgrade of the operator by OLM is held.",
})

func init() { metrics.Registry.MustRegister(heldObjects) }
