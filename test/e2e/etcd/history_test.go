package etcd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/tests/v3/robustness/client"
	"go.etcd.io/etcd/tests/v3/robustness/identity"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
	"github.com/mainstay-operator/mainstay-operator/test/fault"
)

const (
	clusterName = "data"
	clusterSize = 3
	volumeSize  = "128Mi"
	// stillness after a fault, before the next: kube-proxy takes one change a second, and what is measured starts in calm.
	stillness = 2 * time.Second
)

// operating is held by a fault while it lasts, and alone by one that breaks what all clusters share.
var operating sync.RWMutex

// history is all that clients saw of one EtcdCluster, from its first revision on, during faults.
type history struct {
	*target
	cluster *databasev1alpha1.EtcdCluster
	bare    *bare // nil in a short report
	clients *clients
	logs    string // folder, with one for each member whose log was copied
	record  History
}

// newHistory makes a fresh EtcdCluster, and lets clients start.
func newHistory(t *testing.T, p plan, bare *bare) *history {
	t.Helper()
	h := &history{target: &target{namespace: newNamespace(t), name: clusterName}, bare: bare, logs: t.TempDir()}
	t.Cleanup(func() {
		if err := h.close(); err != nil {
			t.Error(err)
		}
	})
	h.cluster = builders.EtcdCluster(clusterName).In(h.namespace).Size(clusterSize).Version(p.version).Storage(volumeSize).
		With(func(s *databasev1alpha1.EtcdClusterSpec) { s.Storage.Retention = databasev1alpha1.EtcdDelete }).Build()
	if err := k8s.Create(t.Context(), h.cluster); err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.heals(t.Context(), clusterSize, atOnce, stillness); err != nil {
		t.Fatal(err)
	}
	made, err := newClients(client.NewSet(identity.NewIDProvider(), time.Now()), h.endpoints(clusterSize), h.serviceEndpoint())
	if err != nil {
		t.Fatal(err)
	}
	h.clients = made
	t.Cleanup(made.close)
	if err := made.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return h
}

// run all faults, one after the other, and judge what the clients saw.
func (h *history) run(ctx context.Context, t *testing.T, faults []faultRow) error {
	for _, f := range faults {
		if err := h.inject(ctx, t, f); err != nil {
			return err
		}
	}
	return h.conclude(ctx, t)
}

// inject a fault here and, at the same time, into the bare etcd, if there is one: both have the same load on the machine.
func (h *history) inject(ctx context.Context, t *testing.T, f faultRow) (err error) {
	if f.alone {
		operating.Lock()
		defer operating.Unlock()
	} else {
		operating.RLock()
		defer operating.RUnlock()
	}
	members, _, err := h.heals(ctx, clusterSize, atOnce, 0)
	if err != nil {
		return err
	}
	h.clients.forgetGaps()
	var parallel sync.WaitGroup
	var bare BareRun
	var bareFailed error
	if f.bare && h.bare != nil {
		parallel.Go(func() { bare, bareFailed = h.bare.inject(ctx, f) })
	}
	defer func() { // it is not left harmed when this one fails
		parallel.Wait()
		err = errors.Join(err, bareFailed)
		if err == nil && f.bare && h.bare != nil {
			h.record.Runs[len(h.record.Runs)-1].Bare = &bare
		}
	}()
	struck := time.Now()
	since, err := f.happen(ctx, &scene{target: h.target, size: clusterSize, members: members, cluster: h.cluster, keepLog: h.keepLog})
	if err != nil {
		return err
	}
	if err := poll(ctx, func(ctx context.Context) error { return cluster.Leads(ctx, k8s) }); err != nil {
		return fmt.Errorf("after %s: the operator: %w", f.name, err)
	}
	if err := h.clients.keepWriting(ctx); err != nil {
		return fmt.Errorf("after %s: %w", f.name, err)
	}
	run := Run{Fault: f.name, Gap: h.clients.all.gap(), ServiceGap: h.clients.service.gap(), Healthy: max(0, since.Sub(struck))}
	t.Logf("%s, at %s: no write for %s, by the Service for %s; healthy after %s",
		f.name, struck.Format(time.TimeOnly), run.Gap, run.ServiceGap, run.Healthy)
	h.record.Runs = append(h.record.Runs, run)
	return nil
}

// conclude ends the writing, asks each member for all that was ever written, and has all judged.
func (h *history) conclude(ctx context.Context, t *testing.T) error {
	upTo, err := h.clients.end(ctx)
	if err != nil {
		return err
	}
	members, _, err := h.heals(ctx, clusterSize, atOnce, 0)
	if err != nil {
		return err
	}
	var has []map[write]bool
	for _, name := range slices.Sorted(maps.Keys(members)) {
		m := members[name]
		reader, err := h.clients.clientSet.NewClient([]string{fmt.Sprintf("http://%s:%d", m.pod.Status.PodIP, clientPort)})
		if err != nil {
			return err
		}
		limited, done := context.WithTimeout(ctx, time.Minute)
		writes, err := allWrites(limited, reader, upTo)
		done()
		if err != nil {
			return fmt.Errorf("reading all that %s has: %w", name, err)
		}
		has = append(has, writes)
		if err := h.keepLog(ctx, m); err != nil {
			return err
		}
	}
	dirs, err := filepath.Glob(filepath.Join(h.logs, "*", "*", "member"))
	if err != nil {
		return err
	}
	for i := range dirs {
		dirs[i] = filepath.Dir(dirs[i])
	}
	reports := h.clients.clientSet.Reports()
	h.record.Acknowledged, h.record.Lost = lost(reports, has)
	start := time.Now()
	if err := judge(t, reports, dirs); err != nil {
		return fmt.Errorf("the judge: %w", err)
	}
	t.Logf("%s: %d acknowledged writes, %d lost; judged in %s with %d logs", h.namespace, h.record.Acknowledged, h.record.Lost,
		time.Since(start), len(dirs))
	h.record.Judged = true
	if h.record.Lost > 0 {
		return fmt.Errorf("%d of %d acknowledged writes are lost", h.record.Lost, h.record.Acknowledged)
	}
	return nil
}

// keepLog copies the data of a member, and with it its write-ahead log.
func (h *history) keepLog(ctx context.Context, m member) error {
	to := filepath.Join(h.logs, fmt.Sprintf("%x", m.id))
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	return fault.CopyDisk(ctx, m.pod.UID, program, dataFolder, to)
}
