package source

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/status"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/untrusted"
)

const (
	// maxMembers bounds the servers that are asked. etcd itself warns beyond 7.
	maxMembers = 16
	// followLimit is how long followers have to reach what was committed: those in sync take milliseconds.
	followLimit = 30 * time.Second
)

// Etcd writes a snapshot of an etcd, with its checksum behind it, into an empty file. It is of a follower that has all that was
// committed when the backup started; of the leader only if no follower is in sync. A snapshot is whole, or there is an error.
func Etcd(ctx context.Context, from backup.Source, dir string, file File) (Meta, error) {
	as, err := etcdLoginOf(from, dir)
	if err != nil {
		return Meta{}, err
	}
	meta, err := readEtcd(ctx, from, as, file)
	if meta.Compared != nil {
		meta.Compared.Skipped = as.redactText(meta.Compared.Skipped) // a server's words may be in it
	}
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("reading etcd: %w", ctx.Err())
	}
	return meta, as.redact(err)
}

func readEtcd(ctx context.Context, from backup.Source, as login, file File) (Meta, error) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	members, err := openMembers(ctx, from, as)
	defer closeMembers(members)
	if err != nil {
		return Meta{}, err
	}
	barrier, err := committed(ctx, members)
	if err != nil {
		return Meta{}, err
	}
	chosen, err := chooseMember(ctx, members, barrier, followLimit)
	if err != nil {
		return Meta{}, err
	}
	chosen, compared, err := compare(ctx, members, chosen, barrier)
	if err != nil {
		return Meta{}, err
	}
	meta, err := chosen.snapshot(ctx, file)
	if err != nil {
		return Meta{}, fmt.Errorf("%s: %w", chosen.endpoint, err)
	}
	if meta.Revision < barrier {
		return Meta{}, fmt.Errorf("%s: its snapshot is of revision %d, but %d was committed before", chosen.endpoint, meta.Revision, barrier)
	}
	meta.Compared = compared
	return meta, nil
}

// openMembers connects to all servers, and returns those that answer, all of one cluster.
func openMembers(ctx context.Context, from backup.Source, as login) (members []*etcdMember, err error) {
	if len(from.Endpoints) > maxMembers {
		return nil, fmt.Errorf("%d servers are more than %d", len(from.Endpoints), maxMembers)
	}
	var failures []error
	for _, endpoint := range from.Endpoints {
		m, err := openMember(ctx, endpoint, as)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		switch members = append(members, m); {
		case m.cluster != members[0].cluster:
			return members, fmt.Errorf("%s and %s are members of different clusters", members[0].endpoint, endpoint)
		case from.ClusterID != "" && m.clusterID() != from.ClusterID:
			return members, fmt.Errorf("%s is a member of cluster %s, and the backup was started for %s: "+
				"the EtcdCluster was replaced or restored in the meantime",
				endpoint, m.clusterID(), from.ClusterID)
		}
	}
	if len(members) == 0 {
		return nil, fmt.Errorf("no server answers: %w", errors.Join(append(failures, ctx.Err())...))
	}
	return members, nil
}

func closeMembers(members []*etcdMember) {
	for _, m := range members {
		m.close()
	}
}

// committed returns the revision that a majority agrees on now: the barrier.
func committed(ctx context.Context, members []*etcdMember) (int64, error) {
	var failures []error
	for _, m := range members {
		if m.isLearner {
			continue // serves no such read
		}
		revision, err := m.readCommitted(ctx)
		if err == nil {
			return revision, nil
		}
		failures = append(failures, err)
	}
	return 0, fmt.Errorf("no member can read what is committed; a majority of them is needed: %w", errors.Join(failures...))
}

// chooseMember returns the member to read: a follower that has reached the revision, or else the leader.
func chooseMember(ctx context.Context, members []*etcdMember, revision int64, limit time.Duration) (*etcdMember, error) {
	var followers, leaders []*etcdMember
	var flaws []error
	for _, m := range members {
		switch flaw := m.flaw(); {
		case flaw != "":
			flaws = append(flaws, fmt.Errorf("%s: %s", m.endpoint, flaw))
		case m.isLeader:
			leaders = append(leaders, m)
		default:
			followers = append(followers, m)
		}
	}
	for _, group := range [][]*etcdMember{followers, leaders} {
		chosen, err := firstToReach(ctx, group, revision, limit)
		if chosen != nil {
			return chosen, nil
		}
		flaws = append(flaws, err)
	}
	return nil, fmt.Errorf("no member is fit to be read: %w", errors.Join(append(flaws, ctx.Err())...))
}

// firstToReach returns the first of the members that has that revision; none if there is none in time.
func firstToReach(ctx context.Context, members []*etcdMember, revision int64, limit time.Duration) (*etcdMember, error) {
	if len(members) == 0 {
		return nil, nil
	}
	ctx, done := context.WithTimeout(ctx, limit)
	defer done()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		var failures []error
		for _, m := range members {
			err := m.look(ctx)
			if err == nil && m.flaw() == "" && m.revision >= revision {
				return m, nil
			}
			failures = append(failures, err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%s has not reached revision %d: %w", members[0].endpoint, revision, errors.Join(append(failures, ctx.Err())...))
		case <-tick.C:
		}
	}
}

// metaOf describes the snapshot of a member.
func (e *etcdMember) metaOf(answer *clientv3.SnapshotResponse, revision int64) (Meta, error) {
	version := answer.Version // of the data; servers before 3.6 do not report it
	if version == "" {
		version = e.version
	}
	if err := checkVersion(version); err != nil {
		return Meta{}, err
	}
	return Meta{ServerVersion: version, Revision: revision, ClusterID: e.clusterID()}, nil
}

// serverError repeats an error of a server, or of the connection to it.
func serverError(err error) error {
	words := status.Convert(err).Message()
	repeated := errors.New(untrusted.Sanitize(words))
	switch {
	case errors.Is(rpctypes.Error(err), rpctypes.ErrAuthFailed): // another password is needed
		return backup.Permanent(repeated)
	// gRPC reports why a handshake failed in words alone.
	case strings.Contains(words, "failed to verify certificate: "), strings.Contains(words, "remote error: tls: "):
		return backup.Permanent(repeated)
	}
	return repeated
}
