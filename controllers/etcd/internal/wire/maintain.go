package wire

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/etcdtoken"
)

// HashData returns what the keys and values of the server hash to, which takes as long as reading all of them.
func (s *Server) HashData(ctx context.Context) (membership.DataHash, error) {
	hashed, err := s.client.HashKV(ctx, s.url, 0)
	if err != nil {
		return membership.DataHash{}, fmt.Errorf("hashing the data: %w", err)
	}
	if hashed.Header == nil {
		return membership.DataHash{}, errors.New("hashing the data: the reply has no revision")
	}
	return membership.DataHash{Revision: hashed.Header.Revision, CompactRevision: hashed.CompactRevision, Hash: hashed.Hash}, nil
}

// Disarm takes an alarm back.
func (s *Server) Disarm(ctx context.Context, alarm membership.Alarm) error {
	for kind, name := range alarmTypes {
		if name == alarm.Type {
			if _, err := s.client.AlarmDisarm(ctx, &clientv3.AlarmMember{MemberID: alarm.ID, Alarm: kind}); err != nil {
				return fmt.Errorf("disarming %s: %w", alarm.Type, err)
			}
		}
	}
	return nil
}

// Compact drops the revisions before that one. One that is dropped already is no error.
func (s *Server) Compact(ctx context.Context, revision int64) error {
	if _, err := s.client.Compact(ctx, revision, clientv3.WithCompactPhysical()); err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
		return fmt.Errorf("compacting: %w", err)
	}
	return nil
}

// Defragment has the server give free pages back to the disk. It continues when the time to wait for it is over. The server reads
// nothing meanwhile, and a second request would wait to do all of it once more: it is refused with ErrBusy.
func (s *Server) Defragment(ctx context.Context) error {
	if !s.reads(ctx) {
		return ErrBusy
	}
	if _, err := s.client.Defragment(ctx, s.url); err != nil && !errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("defragmenting: %w", err)
	}
	return nil
}

// reads reports whether the server reads its own data. Its status says nothing of that, as it is kept in memory.
func (s *Server) reads(ctx context.Context) bool {
	ctx, done := context.WithTimeout(ctx, readTimeout)
	defer done()
	if signer, is := s.login.(*etcdtoken.Signer); is {
		status, err := s.client.AuthStatus(ctx)
		if err != nil {
			return false
		}
		defer signer.PinTo(status.AuthRevision)()
	}
	_, err := s.client.Get(ctx, "any", clientv3.WithSerializable(), clientv3.WithCountOnly())
	return err == nil
}
