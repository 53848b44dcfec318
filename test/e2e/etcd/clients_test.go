package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/tests/v3/robustness/client"
	"go.etcd.io/etcd/tests/v3/robustness/identity"
)

const (
	// keyPrefix starts all keys.
	keyPrefix = "key-"
	// writePause is between two writes of a writer that knows all members, writePauseOfService of one that knows the Service.
	// With the mixed clients that makes some 90 requests a second.
	writePause, writePauseOfService, mixedPause = 20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond
	// writeLimit of one write; whatever takes longer counts as failed, though it may be written.
	writeLimit = 250 * time.Millisecond
	// mixedLimit of any other request.
	mixedLimit = time.Second
	// leaseTTL in seconds is so long that none expires: the judge would not know why its keys are gone.
	leaseTTL = 7200
	// enoughWrites show that writes continue.
	enoughWrites = 20
	// mixedClients is how many clients use the same keys.
	mixedClients = 2
)

// writer writes one key again and again, and measures how long it waits between two acknowledged writes. No value is written
// twice, so that the judge can see whether a write without an answer has happened.
type writer struct {
	client *client.RecordingClient
	ids    identity.Provider
	key    string
	pause  time.Duration

	mu      sync.Mutex
	count   int
	last    time.Time
	longest time.Duration
	failed  error
}

func (w *writer) run(ctx context.Context) {
	every(ctx, w.pause, func() {
		attempt, done := context.WithTimeout(ctx, writeLimit)
		defer done()
		_, err := w.client.Put(attempt, w.key, fmt.Sprint(w.ids.NewRequestID()))
		w.mu.Lock()
		defer w.mu.Unlock()
		if err != nil {
			w.failed = err
			return
		}
		now := time.Now()
		if !w.last.IsZero() {
			w.longest = max(w.longest, now.Sub(w.last))
		}
		w.count, w.last = w.count+1, now
	})
}

// written is how many writes were acknowledged so far.
func (w *writer) written() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count
}

// gap is the longest that has ended since it was last asked for.
func (w *writer) gap() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	longest := w.longest
	w.longest = 0
	return longest
}

// continues waits until so many more writes are acknowledged.
func (w *writer) continues(ctx context.Context, more int) error {
	started := w.written()
	err := poll(ctx, func(context.Context) error {
		if now := w.written(); now < started+more {
			return fmt.Errorf("%d writes were acknowledged", now-started)
		}
		return nil
	})
	if err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		return fmt.Errorf("%s is not written: %w, the last error: %w", w.key, err, w.failed)
	}
	return nil
}

// mixed reads, compares and swaps, and grants leases, one request after the other.
type mixed struct {
	client *client.RecordingClient
	ids    identity.Provider
	seen   map[string]int64 // the revisions at which keys were last changed
	latest int64            // revision that was seen
	lease  clientv3.LeaseID // that is granted, or 0
}

func (m *mixed) run(ctx context.Context) {
	m.seen = map[string]int64{}
	steps := []func(context.Context) error{m.list, m.swap, m.grant, m.get, m.leased, m.former, m.swap, m.revoke, m.get, m.former}
	next := 0
	every(ctx, mixedPause, func() {
		attempt, done := context.WithTimeout(ctx, mixedLimit)
		defer done()
		_ = steps[next%len(steps)](attempt) // the history has it
		next++
	})
}

// shared is a key that all mixed clients use.
func (m *mixed) shared() string { return fmt.Sprintf("%s%d", keyPrefix, m.ids.NewRequestID()%3) }

func (m *mixed) take(reply *clientv3.GetResponse, err error) error {
	if err != nil {
		return err
	}
	m.latest = max(m.latest, reply.Header.Revision)
	for _, kv := range reply.Kvs {
		m.seen[string(kv.Key)] = kv.ModRevision
	}
	return nil
}

func (m *mixed) list(ctx context.Context) error {
	return m.take(m.client.Range(ctx, keyPrefix, clientv3.GetPrefixRangeEnd(keyPrefix), 0, 0, false))
}

func (m *mixed) get(ctx context.Context) error { return m.take(m.client.Get(ctx, m.shared())) }

// former reads what was at the latest revision that was seen, which any member may answer.
func (m *mixed) former(ctx context.Context) error {
	if m.latest == 0 {
		return nil
	}
	_, err := m.client.Range(ctx, keyPrefix, clientv3.GetPrefixRangeEnd(keyPrefix), m.latest, 0, false)
	return err
}

func (m *mixed) swap(ctx context.Context) error {
	key := m.shared()
	reply, err := m.client.Txn(ctx).
		If(clientv3.Compare(clientv3.ModRevision(key), "=", m.seen[key])).
		Then(clientv3.OpPut(key, fmt.Sprint(m.ids.NewRequestID()))).
		Else(clientv3.OpGet(key)).Commit()
	switch {
	case err != nil:
		return err
	case reply.Succeeded:
		m.seen[key] = reply.Header.Revision
		return nil
	}
	return m.take(&clientv3.GetResponse{Header: reply.Header, Kvs: reply.Responses[0].GetResponseRange().Kvs}, nil)
}

func (m *mixed) grant(ctx context.Context) error {
	reply, err := m.client.LeaseGrant(ctx, leaseTTL)
	if err == nil {
		m.lease = reply.ID
	}
	return err
}

func (m *mixed) leased(ctx context.Context) error {
	if m.lease == 0 {
		return nil
	}
	_, err := m.client.PutWithLease(ctx, fmt.Sprintf("%sleased-%d", keyPrefix, m.client.ID), fmt.Sprint(m.ids.NewRequestID()), int64(m.lease))
	return err
}

func (m *mixed) revoke(ctx context.Context) error {
	lease := m.lease
	m.lease = 0
	if lease == 0 {
		return nil
	}
	_, err := m.client.LeaseRevoke(ctx, int64(lease))
	return err
}

// follow watches all keys from their first revision on until ctx ends, and continues where a watch has ended.
func follow(ctx context.Context, c *client.RecordingClient) {
	next := int64(2)
	for ctx.Err() == nil {
		for reply := range c.Watch(ctx, keyPrefix, next, true, true, false) {
			if n := len(reply.Events); n > 0 {
				next = reply.Events[n-1].Kv.ModRevision + 1
			}
		}
	}
}

// allWrites are all that a member says was ever written, up to a revision that is known to be there.
func allWrites(ctx context.Context, c *client.RecordingClient, upTo int64) (map[write]bool, error) {
	ctx, done := context.WithCancel(ctx)
	defer done()
	all := map[write]bool{}
	for reply := range c.Watch(ctx, keyPrefix, 2, true, false, false) {
		if err := reply.Err(); err != nil {
			return nil, err
		}
		for _, event := range reply.Events {
			all[write{string(event.Kv.Key), string(event.Kv.Value), event.Kv.ModRevision}] = true
			if event.Kv.ModRevision >= upTo {
				return all, nil
			}
		}
	}
	return nil, errors.Join(ctx.Err(), fmt.Errorf("the watch ended before revision %d", upTo))
}

// every calls f again and again, with a pause between two starts, until ctx ends.
func every(ctx context.Context, pause time.Duration, f func()) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for ctx.Err() == nil {
		f()
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// clients use one cluster, and the replies that they get are recorded.
type clients struct {
	clientSet    *client.ClientSet
	first        *client.RecordingClient
	all, service *writer
	stop         func()
	running      sync.WaitGroup
	mixed        []*mixed
	watching     *client.RecordingClient
}

// newClients are a writer, mixed clients and a watch that know all members, and a writer that knows the Service.
func newClients(clientSet *client.ClientSet, members, service []string) (*clients, error) {
	c := &clients{clientSet: clientSet}
	var failed error
	dial := func(endpoints []string) *client.RecordingClient {
		made, err := clientSet.NewClient(endpoints)
		failed = errors.Join(failed, err)
		return made
	}
	ids := clientSet.IdentityProvider()
	c.first, c.watching = dial(members), dial(members)
	c.all = &writer{client: dial(members), ids: ids, key: keyPrefix + "all", pause: writePause}
	c.service = &writer{client: dial(service), ids: ids, key: keyPrefix + "service", pause: writePauseOfService}
	for range mixedClients {
		c.mixed = append(c.mixed, &mixed{client: dial(members), ids: ids})
	}
	return c, failed
}

// start with a read that finds nothing, by which the judge knows that it sees all.
func (c *clients) start(ctx context.Context) error {
	if err := poll(ctx, func(ctx context.Context) error {
		_, err := c.first.Get(ctx, keyPrefix)
		return err
	}); err != nil {
		return fmt.Errorf("the first read: %w", err)
	}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	watch, end := context.WithCancel(context.WithoutCancel(ctx))
	var watching sync.WaitGroup
	watching.Go(func() { follow(watch, c.watching) })
	for _, w := range []*writer{c.all, c.service} {
		c.running.Go(func() { w.run(run) })
	}
	for _, m := range c.mixed {
		c.running.Go(func() { m.run(run) })
	}
	c.stop = sync.OnceFunc(func() {
		stop()
		c.running.Wait()
		end()
		watching.Wait()
	})
	return c.keepWriting(ctx)
}

// keepWriting waits until both writers have written on.
func (c *clients) keepWriting(ctx context.Context) error {
	return errors.Join(c.all.continues(ctx, enoughWrites), c.service.continues(ctx, enoughWrites))
}

// forgetGaps of both writers, those that have ended.
func (c *clients) forgetGaps() {
	c.all.gap()
	c.service.gap()
}

// close all clients.
func (c *clients) close() {
	if c.stop != nil {
		c.stop()
	}
	c.clientSet.Close()
}

// end all requests with a write and a read that succeed, and return the revision of that write.
func (c *clients) end(ctx context.Context) (revision int64, err error) {
	c.stop()
	err = poll(ctx, func(ctx context.Context) error {
		reply, err := c.first.Put(ctx, keyPrefix+"last", fmt.Sprint(c.clientSet.IdentityProvider().NewRequestID()))
		if err == nil {
			revision = reply.Header.Revision
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("the last write: %w", err)
	}
	err = poll(ctx, func(ctx context.Context) error {
		_, err := c.first.Range(ctx, keyPrefix, clientv3.GetPrefixRangeEnd(keyPrefix), 0, 0, false)
		return err
	})
	return revision, err
}
