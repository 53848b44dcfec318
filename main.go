// Command manager runs the Mainstay Operator.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/mainstay-operator/mainstay-operator/controllers"
	"github.com/mainstay-operator/mainstay-operator/controllers/leadership"
	"github.com/mainstay-operator/mainstay-operator/controllers/upgradeable"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}

func run() error {
	metricsAddress := flag.String("metrics-bind-address", "0", "address of the metrics, as :8443; 0 turns them off")
	metricsSecure := flag.Bool("metrics-secure", true, "serve the metrics over TLS to authorized clients only")
	probeAddress := flag.String("health-probe-bind-address", ":8081", "address of /healthz and /readyz; 0 turns them off")
	leaderElect := flag.Bool("leader-elect", false, "let only one of several managers act")
	logging := zap.Options{}
	logging.BindFlags(flag.CommandLine)
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&logging)))

	// GOMEMLIMIT is set to the container's limit, which also counts memory outside the Go runtime.
	debug.SetMemoryLimit(debug.SetMemoryLimit(-1) / 10 * 9)

	scheme := runtime.NewScheme()
	utilruntime.Must(controllers.AddToScheme(scheme))

	metrics := metricsserver.Options{BindAddress: *metricsAddress, SecureServing: *metricsSecure}
	if *metricsSecure {
		metrics.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	config, ctx := ctrl.GetConfigOrDie(), ctrl.SetupSignalHandler()
	account, err := controllers.OwnAccount(ctx, config)
	if err != nil {
		return err
	}
	condition, err := upgradeable.FromEnv(account.Namespace)
	if err != nil {
		return err
	}
	namespaces := controllers.NamespacesFromEnv()
	options := ctrl.Options{
		Scheme:                 scheme,
		Cache:                  controllers.CacheOptions(namespaces),
		Metrics:                metrics,
		HealthProbeBindAddress: *probeAddress,
	}
	kinds := controllers.Options{Identity: string(uuid.NewUUID()), Images: controllers.ImagesFromEnv(), Namespaces: namespaces,
		Account: account, Condition: condition}
	var lease *leadership.Lease
	if *leaderElect {
		if lease, err = leadership.New(config, account.Namespace, leadership.DefaultTimes); err != nil {
			return err
		}
		options, kinds.IsLeader, kinds.Identity = lease.WithLeaderElection(options), lease.Held, lease.Identity()
	}
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return fmt.Errorf("making the manager: %w", err)
	}
	if lease != nil {
		lease.RecordEvents(mgr.GetEventRecorder("leader-election"))
		if err := lease.WriteTerminationMessage(leadership.TerminationLog); err != nil {
			mgr.GetLogger().Info("the next leader cannot see when this process ends and will wait until the lease has run out; "+
				"leave terminationMessagePath at its default", "error", err.Error())
		}
	}

	if err := controllers.SetupAll(ctx, mgr, kinds); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
