package source

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

const (
	// hashLimit bounds a hash of all keys: a member reads all its data for it.
	hashLimit = 10 * time.Minute
	// sameStateLimit is how long two members have to come to the same state. Those in sync take milliseconds to apply the same entry.
	sameStateLimit = 30 * time.Second
)

// keysHash is what a member makes of its keys at one revision. Two can be compared if they have compacted up to the same revision.
type keysHash struct {
	hash      uint32
	compacted int64
}

// errNotReached says that a member has yet to apply what others have.
var errNotReached = errors.New("it has not reached revision")

// hashAt has the member hash its keys as they were at that revision.
func (e *etcdMember) hashAt(ctx context.Context, revision int64) (keysHash, error) {
	ctx, done := context.WithTimeout(ctx, hashLimit)
	defer done()
	answer, err := e.client.HashKV(ctx, e.client.Endpoints()[0], revision)
	switch {
	case errors.Is(rpctypes.Error(err), rpctypes.ErrFutureRev):
		return keysHash{}, fmt.Errorf("%s: %w %d", e.endpoint, errNotReached, revision)
	case err != nil:
		return keysHash{}, fmt.Errorf("%s: hashing its keys at revision %d: %w", e.endpoint, revision, serverError(err))
	}
	return keysHash{answer.Hash, answer.CompactRevision}, nil
}

// compare returns an error if another voter has other keys than the member at that revision: data that has changed on a disk without a
// word is whole, and a server starts from it. A cluster of one has no other voter.
func (e *etcdMember) compare(ctx context.Context, members []*etcdMember, revision int64) error {
	var failures []error
	for _, other := range members {
		if other == e || other.isLearner {
			continue
		}
		err := e.compareWith(ctx, other, revision)
		if err == nil || backup.IsPermanent(err) {
			return err
		}
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

// compareWith asks both until they can be compared.
func (e *etcdMember) compareWith(ctx context.Context, other *etcdMember, revision int64) error {
	retry, done := context.WithTimeout(ctx, sameStateLimit)
	defer done()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		own, err := e.hashAt(ctx, revision)
		if err != nil {
			return err
		}
		others, err := other.hashAt(ctx, revision)
		switch {
		case err != nil && !errors.Is(err, errNotReached):
			return err
		case err == nil && own == others:
			return nil
		case err == nil && own.compacted == others.compacted:
			return backup.Permanent(fmt.Errorf("%s and %s have different keys at revision %d (hashes %d and %d): the data of one of them is "+
				"wrong. Compare each with a third member (etcdctl endpoint hashkv), and replace the one that differs from the others",
				e.endpoint, other.endpoint, revision, own.hash, others.hash))
		case err == nil:
			err = fmt.Errorf("%s and %s have compacted up to different revisions, %d and %d", e.endpoint, other.endpoint, own.compacted,
				others.compacted)
		}
		select {
		case <-retry.Done():
			return fmt.Errorf("the snapshot could not be compared with another member: %w", err)
		case <-tick.C:
		}
	}
}
