// Command demo shows the operator at work: a cluster, the operator on it, the
// samples, and real traffic to what they have become.
//
// CLUSTER=local is the cluster of hack/cluster and the default;
// CLUSTER=existing is whatever KUBECONFIG points at, with IMG from a registry.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

const usage = `usage: go run ./hack/demo [COMMAND]

  (none)      make a cluster, deploy the operator, apply the samples, prove that they run and that backups bring data back
  deploy      build and deploy the operator on a cluster that is up
  olm-up      run Operator Lifecycle Manager on the local cluster
  run-bundle  run the bundle by operator-sdk, have its scorecard judge it, and clean up
  undeploy    remove the operator's objects, then the operator
  down        remove the demo: the whole local cluster, or what it put on an existing one
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "\ndemo: %v\n", err)
		failed := failure{}
		if errors.As(err, &failed) && len(failed.look) > 0 {
			fmt.Fprintf(os.Stderr, "\nlook at:\n  %s\n", strings.Join(failed.look, "\n  "))
		}
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	d, err := newDemo()
	if err != nil {
		return err
	}
	clusterUp := step{"cluster", d.clusterUp, d.clusterLogs}
	operator := step{"operator", d.deploy, d.operatorLogs}
	samples := step{"samples", d.applySamples, d.operatorLogs}
	proof := step{"proof", d.checkSamples, d.operatorLogs}
	restore := step{"backup and restore", d.checkRestore, d.operatorLogs}
	olm := step{"OLM", d.olmUp, d.olmLogs}
	bundle := step{"operator-sdk run bundle", d.runBundle, d.olmLogs}
	remove := step{"operator", d.undeploy, d.operatorLogs}
	clusterDown := step{"cluster", d.clusterDown, d.clusterLogs}

	switch command := strings.Join(args, " "); {
	case command == "":
		if err := runSteps(ctx, clusterUp, operator, samples, proof, restore); err != nil {
			return err
		}
		return d.printSummary(ctx)
	case command == "deploy":
		return runSteps(ctx, operator)
	case command == "olm-up":
		return runSteps(ctx, clusterUp, olm)
	case command == "run-bundle":
		return runSteps(ctx, clusterUp, olm, bundle)
	case command == "undeploy":
		return runSteps(ctx, remove)
	case command == "down" && d.local:
		return runSteps(ctx, clusterDown) // and with it all that ran there
	case command == "down":
		return runSteps(ctx, remove)
	default:
		return fmt.Errorf("unknown command %q\n\n%s", command, usage)
	}
}
