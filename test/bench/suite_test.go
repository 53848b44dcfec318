// Package bench compares what the deployed operator costs with what a bare client costs that writes the same: the null operator
// (package null), on the same API server, with the same number of workers.
//
// It needs KUBECONFIG, a deployed operator, and a node that is this machine, as hack/cluster makes it. REPORT names a file for the
// table; next to it are the figures, with which an interrupted run continues while the code is the same. OBJECTS are numbers of objects,
// FOCUS is a regular expression of kinds, and ORDER that of the runs, such as AB. With LONG set there are more objects.
//
// A run creates N objects in one namespace, edits all (size from 1 to 2), and deletes all. Of a number of objects there are four runs, of
// the operator, the null operator, the null operator and the operator, so that what changes with time changes both.
//
//   - An object counts when its condition Ready is True for its generation. No machine has room for so many pods, so they run on a node
//     that is simulated (fakekube.Node): its pods are ready at once. Scheduler, kube-controller-manager and API server are
//     real. What a container does, and its image, play no part.
//   - Kubernetes' own rate limits would hide what is compared: with 20 requests a second for each controller of kube-controller-manager,
//     both contestants take equally long. make bench raises them for both, and the report says what they were.
//   - The null operator has learned its children and its status from an object that the operator made. It creates them without
//     server-side apply, and writes the status once for each generation, where the operator reports progress, too. It watches the
//     objects and their workloads alone, and has no standby.
//   - Phases end when the contestant has sent no request about the namespace for restingTime. The API server's CPU includes what
//     all others asked of it until then; so does the null operator's run.
//   - While the null operator runs there is no manager. Before each run of the operator its two managers are new. The processor's time of
//     the null operator is not measured: it shares this process with the simulated node.
//   - Memory is by how much a manager grew from its start, without an object, until all objects were Ready.
//   - Before the operator deletes, its leader is killed, then both managers are replaced: how long does an edit of one object wait?
//   - The garbage collector deletes the children of deleted objects at its own pace. A run does not wait for it: it deletes the
//     namespace.
package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/mainstay-operator/mainstay-operator/test/audit"
	"github.com/mainstay-operator/mainstay-operator/test/bench/figures"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/fakekube"
)

const (
	// restingTime without a request ends a phase.
	restingTime = 2 * time.Second
	// pollInterval is how exactly times are measured.
	pollInterval = 20 * time.Millisecond
	// timeout of whatever does not depend on the number of objects, and timePerObject of what does.
	timeout, timePerObject = 5 * time.Minute, 2 * time.Second
	// goneTime is how long a namespace with all objects may take to go.
	goneTime = 30 * time.Minute
	// garbageCollector is who deletes the children of deleted objects.
	garbageCollector = "system:serviceaccount:kube-system:generic-garbage-collector"
	// abba is the order of the runs: A is the operator's, B is that of the null operator.
	abba = "ABBA"
	// enough objects for what is done to single ones.
	enough = 2
)

// bench is what all runs share.
type bench struct {
	config *rest.Config
	// k8s is an administrator's client, without a cache.
	k8s     client.Client
	log     audit.Log
	account account
	node    *fakekube.Node
	// recall the operator, which is dismissed between its runs.
	recall func() error
}

// setting is a number of objects of a kind, and the order of the runs.
type setting struct {
	kind    kind
	objects int
	order   string
}

// TestBench prints the report.
func TestBench(t *testing.T) {
	ctx, file := t.Context(), os.Getenv("REPORT")
	todo, err := settings()
	if err != nil {
		t.Fatal(err)
	}
	report, err := figures.Load(file, code(ctx))
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	limits, err := rateLimits()
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Runs) > 0 && report.Limits != limits {
		t.Fatalf("the report has runs with other rate limits: %s", report.Limits)
	}
	report.Limits = limits
	recipes, err := b.learnAll(ctx, todo)
	if err != nil {
		t.Fatal(err)
	}
	b.dismiss(t)
	for _, s := range todo {
		for done := report.Done(s.kind.name, s.objects); done < len(s.order); done++ {
			contestant := map[byte]string{'A': figures.Ours, 'B': figures.Null}[s.order[done]]
			t.Logf("%s: %d of %s with the %s, %d workers", time.Now().Format(time.TimeOnly), s.objects, s.kind.name, contestant,
				b.account.workers[s.kind.name])
			r, err := b.run(ctx, s, contestant, recipes[s.kind.name])
			if err != nil {
				t.Fatalf("%d of %s with the %s: %v", s.objects, s.kind.name, contestant, err)
			}
			report.Runs = append(report.Runs, r)
			if err := report.Save(file); err != nil {
				t.Fatal(err)
			}
		}
	}
	fmt.Printf("\n%s\n", report.Table())
}

// settings that the environment asks for.
func settings() ([]setting, error) {
	focus, err := regexp.Compile(os.Getenv("FOCUS"))
	if err != nil {
		return nil, fmt.Errorf("FOCUS: %w", err)
	}
	numbers := []int{300}
	if os.Getenv("LONG") != "" {
		numbers = []int{100, 300, 1000}
	}
	if words := strings.Fields(os.Getenv("OBJECTS")); len(words) > 0 {
		numbers = nil
		for _, word := range words {
			number, err := strconv.Atoi(word)
			if err != nil || number < enough {
				return nil, fmt.Errorf("OBJECTS must be numbers of objects, each at least %d: %q", enough, word)
			}
			numbers = append(numbers, number)
		}
	}
	order := cmp.Or(os.Getenv("ORDER"), abba)
	if strings.Trim(order, "AB") != "" {
		return nil, fmt.Errorf("ORDER must consist of A, the operator, and B, the null operator: %q", order)
	}
	var all []setting
	for _, k := range kinds {
		if !focus.MatchString(k.name) {
			continue
		}
		for _, number := range numbers {
			all = append(all, setting{k, number, order})
		}
	}
	return all, nil
}

// newBench connects to the cluster, and makes what all runs share until the test has ended.
func newBench(t *testing.T) *bench {
	t.Helper()
	if !cluster.Local() {
		t.Fatal("the benchmark reads the node's processes: CLUSTER=local")
	}
	log.SetLogger(logr.Discard())
	ctx := t.Context()
	config, c, err := cluster.Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := poll(ctx, timeout, func(ctx context.Context) error { return cluster.Leads(ctx, c) }); err != nil {
		t.Fatal(err)
	}
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{config: config, k8s: c, log: audit.Log{Path: filepath.Join(root, ".cluster", "log", "audit.log")}}
	shared, err := b.newNamespace(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.deleteNamespace(context.WithoutCancel(ctx), shared); err != nil {
			t.Error(err)
		}
	})
	b.account, err = b.newAccount(ctx, shared)
	t.Cleanup(func() {
		if err := b.account.remove(context.WithoutCancel(ctx), c); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	b.node, err = fakekube.StartNode(ctx, config, c.Scheme(), shared)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.node.Remove(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	})
	return b
}

// dismiss the operator until it is recalled, in the end by the test's.
func (b *bench) dismiss(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		if b.recall == nil {
			return
		}
		if err := b.recall(); err != nil {
			t.Error(err)
		}
	})
	if err := b.dismissOperator(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// dismissOperator waits until no manager runs.
func (b *bench) dismissOperator(ctx context.Context) (err error) {
	if b.recall, err = cluster.Dismiss(ctx, b.k8s); err != nil {
		return err
	}
	return poll(ctx, timeout, func(ctx context.Context) error {
		pods, err := cluster.Operators(ctx, b.k8s)
		if err == nil && len(pods) > 0 {
			err = fmt.Errorf("%d managers still run", len(pods))
		}
		return err
	})
}

// newNamespace makes one, and returns its name.
func (b *bench) newNamespace(ctx context.Context) (string, error) {
	fresh := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "bench-"}}
	err := b.k8s.Create(ctx, fresh)
	return fresh.Name, err
}

// deleteNamespace waits until all that is in it has gone, and the garbage collector no longer looks for it.
func (b *bench) deleteNamespace(ctx context.Context, name string) error {
	if err := cluster.DeleteNamespaces(ctx, b.k8s, goneTime, name); err != nil {
		return err
	}
	return b.untilResting(ctx, garbageCollector, name, timeout)
}

// poll until there is no error, and return the last one when the time has run out.
func poll(ctx context.Context, within time.Duration, try func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, pollInterval, within, true, func(ctx context.Context) (bool, error) {
		last = try(ctx)
		return last == nil, nil
	})
	return errors.Join(err, last)
}

// code is the commit that is checked out; empty where git does not know, or where the tree differs from it.
func code(ctx context.Context) string {
	text, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*").Output()
	if err != nil || strings.Contains(string(text), "-dirty") {
		return ""
	}
	return strings.TrimSpace(string(text))
}
