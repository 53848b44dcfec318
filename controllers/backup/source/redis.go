package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/mainstay-operator/mainstay-operator/controllers/backup/internal/rdb"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/untrusted"
)

const (
	// maxRedisNodes bounds the servers that are asked: a set has at most 9.
	maxRedisNodes = 16
	// catchUpLimit is how long replicas have to reach what the master had: those in sync take milliseconds.
	catchUpLimit = time.Minute
)

// Redis writes a dump of a Redis to w. It is of a replica that has all that the master had when the backup started; of the master
// only if there is no other server. A dump is whole, or there is an error. Reading w slowly would make the server give up
// the dump, so w should be a file.
func Redis(ctx context.Context, from backup.Source, dir string, w io.Writer) (Meta, error) {
	as, err := loginOf(from, dir)
	if err != nil {
		return Meta{}, err
	}
	if err := checkSourceUID(from, dir); err != nil {
		return Meta{}, err
	}
	meta, err := readRedis(ctx, from, as, w)
	return meta, as.redact(err)
}

func readRedis(ctx context.Context, from backup.Source, as login, w io.Writer) (Meta, error) {
	ctx, end := context.WithCancel(ctx)
	defer end() // closes all connections
	nodes, err := openNodes(ctx, from, as)
	if err != nil {
		return Meta{}, err
	}
	chosen, barrier, err := chooseNode(ctx, nodes, hasNoReplica(from), catchUpLimit)
	if err != nil {
		return Meta{}, err
	}
	meta, err := chosen.dump(barrier, w, progressTimeout)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%s: reading the dump: %w", chosen.endpoint, ctx.Err()) // which has closed the connection
	}
	return meta, err
}

// checkSourceUID refuses another Redis than the one that the backup was started for. Their servers have the same names.
func checkSourceUID(from backup.Source, dir string) error {
	uid, err := readWord(dir, backup.SourceUIDKey)
	if err == nil && uid != from.UID {
		err = fmt.Errorf("the Redis has the UID %s, and the backup was started for %s: it was deleted and recreated in the meantime",
			untrusted.Quote(uid), from.UID)
	}
	return err
}

// openNodes connects to all servers, and returns those that answer: there must be exactly one master among them. A master that was
// replaced while it hung may still call itself a master until another server proves otherwise, and the next master may have died in the
// meantime. The former master is recognized by its history.
func openNodes(ctx context.Context, from backup.Source, as login) (nodes []*redisNode, err error) {
	if len(from.Endpoints) > maxRedisNodes {
		return nil, fmt.Errorf("%d servers are more than %d", len(from.Endpoints), maxRedisNodes)
	}
	var failures []error
	var master *redisNode
	for _, endpoint := range from.Endpoints {
		n, err := openNode(ctx, endpoint, as)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		if n.replication.IsMaster && master != nil {
			return nil, fmt.Errorf("%s and %s are both masters: the backup is retried once there is one", master.endpoint, endpoint)
		}
		if n.replication.IsMaster {
			master = n
		}
		nodes = append(nodes, n)
	}
	if master == nil {
		return nil, fmt.Errorf("no server answers as a master: %w", errors.Join(append(failures, ctx.Err())...))
	}
	if !master.replication.IsOf(from.ReplicationID) {
		return nil, fmt.Errorf("the master %s has the replication ID %s, and the backup was started for that of %s: the master has changed since",
			master.endpoint, master.replication.ID, from.ReplicationID)
	}
	return nodes, nil
}

// hasNoReplica reports whether the Redis is to have one server alone. The number that runs does not show that: replicas may not have
// started yet, and then the master gives no dump.
func hasNoReplica(from backup.Source) bool { return len(from.Endpoints) == 1 && from.Size <= 1 }

// chooseNode returns the server to read, and what the master had: the barrier. It waits for a replica that has all of that. alone says
// that there is no other server than the master, which then is read itself.
func chooseNode(ctx context.Context, nodes []*redisNode, alone bool, limit time.Duration,
) (chosen *redisNode, barrier Replication, err error) {
	master := nodes[slices.IndexFunc(nodes, func(n *redisNode) bool { return n.replication.IsMaster })]
	barrier = master.replication
	replicas := slices.DeleteFunc(slices.Clone(nodes), func(n *redisNode) bool { return !n.replication.Follows(barrier) })
	switch {
	case alone:
		return master, barrier, nil
	case len(replicas) == 0:
		return nil, Replication{}, fmt.Errorf("no replica is in sync with the master %s, and a master that has replicas is not read: the backup "+
			"is retried once a replica is in sync", master.endpoint)
	}
	ctx, done := context.WithTimeout(ctx, limit)
	defer done()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		var failures []error
		for _, r := range replicas {
			err := r.look()
			if err == nil && r.replication.Has(barrier) {
				return r, barrier, nil
			}
			failures = append(failures, err)
		}
		select {
		case <-ctx.Done():
			return nil, Replication{}, fmt.Errorf("no replica has reached offset %d of the master %s: %w",
				barrier.Offset, master.endpoint, errors.Join(append(failures, ctx.Err())...))
		case <-tick.C:
		}
	}
}

// dump asks the server for all its data, as a replica does that wants nothing else, and writes it to w.
func (r *redisNode) dump(barrier Replication, w io.Writer, progress time.Duration) (Meta, error) {
	r.conn.timeout = progress
	meta := Meta{ServerVersion: r.replication.version}
	var err error
	if meta.ReplicationID, meta.Offset, err = r.conn.startSync(); err != nil {
		return Meta{}, fmt.Errorf("%s: asking for a dump: %w", r.endpoint, err)
	}
	if !r.replication.MayGive(meta.ReplicationID, meta.Offset, barrier) {
		return Meta{}, fmt.Errorf("%s: its dump starts at offset %d of %s, not after %d of %s: the master has changed in the meantime, "+
			"or another dump was under way", r.endpoint, meta.Offset, meta.ReplicationID, barrier.Offset, barrier.ID)
	}
	content, err := r.conn.payload()
	if err != nil {
		return Meta{}, fmt.Errorf("%s: waiting for the dump: %w", r.endpoint, err)
	}
	is, err := rdb.Read(io.TeeReader(content, w))
	if err != nil {
		return Meta{}, fmt.Errorf("%s: reading the dump: %w", r.endpoint, err)
	}
	meta.RDBVersion, meta.Keys, meta.Expires = is.Version, is.Keys, is.Expires
	return meta, nil
}
