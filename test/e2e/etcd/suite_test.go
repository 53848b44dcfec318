// Package etcd breaks an EtcdCluster on a real cluster, fault by fault, while clients use it. etcd's own robustness model judges what
// the clients saw. In a long report, a bare etcd is broken in the same way in parallel.
//
// It is a module of its own, so that what etcd's tests need stays out of the operator's. It needs KUBECONFIG, a deployed
// operator, and a node that is this machine, as hack/cluster makes it. With LONG set there are 150 faults and more instead of
// some; FOCUS is a regular expression of faults; REPORT names a file for the report. Reports of the same code are added up.
package etcd

import (
	"context"
	"fmt"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/mainstay-operator/mainstay-operator/test/cluster"
)

// rounds of all histories in a long report.
const rounds = 10

// k8s is an administrator's client, without a cache.
var k8s client.WithWatch

// TestEtcdUnderFaults prints the report.
func TestEtcdUnderFaults(t *testing.T) {
	connect(t)
	focus, err := regexp.Compile(os.Getenv("FOCUS"))
	if err != nil {
		t.Fatalf("FOCUS: %v", err)
	}
	done, err := loadReport(os.Getenv("REPORT"), code())
	if err != nil {
		t.Fatal(err)
	}
	times, long := 1, os.Getenv("LONG") != ""
	if long {
		times = rounds
	}
	if err := cluster.Provide(t.Context(), "etcd-images", "3.6"); err != nil { // to raise the version of
		t.Fatal(err)
	}
	for round := range times {
		t.Run(fmt.Sprintf("round %d", round+1), func(t *testing.T) {
			var bare *bare // a single fault says nothing about which of two etcds is quicker
			if long {
				bare = newBare(t)
			}
			var adding sync.Mutex
			for _, p := range plans {
				p.faults = slices.DeleteFunc(slices.Clone(p.faults), func(f faultRow) bool { return !focus.MatchString(f.name) })
				if len(p.faults) == 0 {
					continue
				}
				t.Run(p.name, func(t *testing.T) {
					t.Parallel()
					h := newHistory(t, p, bare)
					t.Cleanup(func() {
						adding.Lock()
						defer adding.Unlock()
						done.Histories = append(done.Histories, h.record)
					})
					if err := h.run(t.Context(), t, p.faults); err != nil {
						h.record.Failure = err.Error()
						t.Error(err)
					}
				})
			}
		})
		if err := done.save(os.Getenv("REPORT")); err != nil {
			t.Error(err)
		}
	}
	fmt.Printf("\n%s\n", done.table())
}

// connect to the cluster, whose DNS this process then asks for names.
func connect(t *testing.T) {
	t.Helper()
	if !cluster.Local() {
		t.Fatal("the faults need the node's processes: CLUSTER=local")
	}
	log.SetLogger(logr.Discard())
	// No proxy leads to members; a client asks for one by their names.
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		if err := os.Setenv(name, strings.TrimPrefix(os.Getenv(name)+",.svc.cluster.local", ",")); err != nil {
			t.Fatal(err)
		}
	}
	config, c, err := cluster.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if k8s, err = client.NewWithWatch(config, client.Options{Scheme: c.Scheme()}); err != nil {
		t.Fatal(err)
	}
	if err := poll(t.Context(), func(ctx context.Context) error { return cluster.Leads(ctx, k8s) }); err != nil {
		t.Fatal(err)
	}
	var nodes corev1.NodeList
	if err := k8s.List(t.Context(), &nodes); err != nil {
		t.Fatal(err)
	}
	for _, a := range nodes.Items[0].Status.Addresses {
		if a.Type == corev1.NodeInternalIP { // where hack/cluster has the cluster's DNS, too
			net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(a.Address, "53"))
			}}
		}
	}
}

// newNamespace is there until the test has ended.
func newNamespace(t *testing.T) string {
	t.Helper()
	started := time.Now()
	fresh := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "etcd-"}}
	if err := k8s.Create(t.Context(), fresh); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if t.Failed() {
			t.Log(cluster.Diagnose(ctx, fresh.Name, started))
		}
		if err := cluster.DeleteNamespaces(ctx, k8s, healLimit, fresh.Name); err != nil {
			t.Error(err)
		}
	})
	return fresh.Name
}
