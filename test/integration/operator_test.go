package integration

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/mainstay-operator/mainstay-operator/controllers"
	"github.com/mainstay-operator/mainstay-operator/controllers/leadership"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

// operator is one process of the operator.
type operator struct {
	*fault.Transport
	stop   func()             // and wait for its end, once its caches are full
	cancel context.CancelFunc // and wait for nothing
	probes probes
}

// probes are what the kubelet asks of an operator, by path.
type probes map[string]healthz.Checker

// probing is a manager whose checks a spec asks as the kubelet does.
type probing struct {
	ctrl.Manager
	probes probes
}

func (p probing) AddReadyzCheck(name string, check healthz.Checker) error {
	p.probes["readyz"] = check
	return p.Manager.AddReadyzCheck(name, check)
}

func (p probing) AddHealthzCheck(name string, check healthz.Checker) error {
	p.probes["healthz"] = check
	return p.Manager.AddHealthzCheck(name, check)
}

// install is how an operator is installed.
type install struct {
	rights     *rest.Config         // nil for those of the shipped ClusterRole
	namespaces []string             // that it looks after; none means all
	own        string               // namespace of its lease; "" elects no leader
	condition  types.NamespacedName // OLM's, empty for none
	account    types.NamespacedName // that it runs as; empty for one that is no pod
	decide     fault.Decide         // what befalls its calls; nil for nothing
	images     controllers.Images
}

// startUp is what filling the caches may take.
const startUp = 20 * time.Second

// ownImage is that of an operator of the suite itself.
const ownImage = "example.org/mainstay-operator:1"

// images that an operator of the suite brings as defaults.
var images = controllers.Images{
	Memcached:         "example.org/memcached:1.6.38",
	MemcachedExporter: "example.org/memcached-exporter:v0.14.3",
	Redis:             "example.org/redis:8.0",
	Valkey:            "example.org/valkey:8.1",
	Activity:          "example.org/busybox:1.37",
	Etcd:              [3]string{"example.org/etcd:v3.5.35", "example.org/etcd:v3.6.16", "example.org/etcd:v3.7.3"},
	Operator:          ownImage,
}

// operate starts an operator as main.go does. It is stopped with the spec at
// the latest, and must not have been forbidden anything until then.
func operate(namespace string) *operator {
	GinkgoHelper()
	return install{namespaces: []string{namespace}, images: images}.operate()
}

func (i install) operate() *operator {
	GinkgoHelper()
	o, err := i.launch()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		o.stop()
		Expect(o.Calls(forbidden)).To(BeEmpty(), "the role lacks a right")
	})
	return o
}

// launch starts an operator with faults in its Transport. Its caches are cold.
func launch(namespace string, decide fault.Decide, defaults controllers.Images) (*operator, error) {
	return install{namespaces: []string{namespace}, decide: decide, images: defaults}.launch()
}

func (i install) launch() (*operator, error) {
	o, mgr, err := i.start()
	if err != nil {
		return nil, err
	}
	soon, enough := context.WithTimeout(context.Background(), startUp)
	defer enough()
	if !mgr.GetCache().WaitForCacheSync(soon) {
		o.cancel() // a manager that has not started does not end either
		return nil, fmt.Errorf("the operator's caches do not fill; forbidden: %v", o.Calls(forbidden))
	}
	return o, nil
}

// start starts an operator whose caches may never fill.
func (i install) start() (*operator, ctrl.Manager, error) {
	o := &operator{Transport: fault.NewTransport(i.decide), probes: probes{}}
	mgr, kinds, err := i.manager(o)
	if err != nil {
		return nil, nil, fmt.Errorf("making the operator: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if err := controllers.SetupAll(ctx, probing{mgr, o.probes}, kinds); err != nil {
		cancel()
		return nil, nil, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := mgr.Start(ctx); err != nil { // the spec that waits for its work will miss it
			GinkgoWriter.Println("the operator has ended:", err)
		}
	}()
	o.stop, o.cancel = sync.OnceFunc(func() { cancel(); <-ended }), cancel
	return o, mgr, nil
}

func (i install) manager(o *operator) (ctrl.Manager, controllers.Options, error) {
	wired := rest.CopyConfig(cmp.Or(i.rights, operates))
	wired.Wrap(o.Wrap)
	options := ctrl.Options{
		Scheme:     scheme,
		Cache:      controllers.CacheOptions(i.namespaces),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	}
	kinds := controllers.Options{Identity: string(uuid.NewUUID()), Images: i.images, Namespaces: i.namespaces, Account: i.account,
		Condition: i.condition}
	if i.own != "" {
		// A busy machine is no lost leader.
		lease, err := leadership.New(wired, i.own, leadership.Times{LeaseDuration: 2 * startUp, RenewDeadline: startUp,
			RetryPeriod: 2 * time.Second})
		if err != nil {
			return nil, kinds, err
		}
		options, kinds.IsLeader = lease.WithLeaderElection(options), lease.Held
	}
	mgr, err := ctrl.NewManager(wired, options)
	return mgr, kinds, err
}

// writes are the calls that change something in the cluster.
func writes(c fault.Call) bool { return c.Writes() && !c.Event() }

// work is all but what a process at rest does: open lists and watches.
func work(c fault.Call) bool {
	return c.Verb != "list" && c.Verb != "watch" && c.Resource != "discovery"
}
