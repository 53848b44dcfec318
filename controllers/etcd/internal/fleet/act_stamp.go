package fleet

import (
	"context"
	"errors"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// errClaimsChanged says that the claims are not as they were when the plan decided to reuse their volumes.
var errClaimsChanged = errors.New("the claims of the former EtcdCluster have changed: looking again")

// save saves the status, with a later revision of the record than any claim is stamped with.
func (f *Fleet) save(ctx context.Context) error {
	if record := f.Cluster.Status.Membership; record != nil {
		record.Revision = max(record.Revision, f.LastStamped()) + 1
	}
	return f.Effects.Save(ctx)
}

// stampClaims writes the record on the claims that have another. At rest it sends nothing. If a claim has a later revision, either the
// object that was read is outdated, and the save fails; or somebody has restored an earlier status, which then gets the latest revision.
func (f *Fleet) stampClaims(ctx context.Context) error {
	if !f.Situation().AreStampsDue() {
		return nil
	}
	if f.Situation().IsRevisionTaken() {
		if err := f.save(ctx); err != nil {
			return err
		}
	}
	stamp := f.Situation().Stamp()
	if err := f.Effects.StampClaims(ctx, stamp); err != nil {
		return err
	}
	for i := range f.Claims {
		if claim := &f.Claims[i]; !claim.Goes {
			claim.Stamp = stamp.For(claim.UID)
		}
	}
	return nil
}

// doReuseVolumes saves the record that is stamped on the claims of a former object. It reads the claims once more: the cache may be behind.
func (f *Fleet) doReuseVolumes(ctx context.Context, _ membership.Step) error {
	claims, err := f.Effects.ReadClaims(ctx)
	if err != nil {
		return err
	}
	f.Claims = claims
	now := f.Situation()
	if next := now.Plan(); next.Do != membership.ReuseVolumes {
		return errClaimsChanged
	}
	stamp, _ := now.FormerRecord()
	f.Cluster.Status = now.StatusFrom(stamp)
	return f.save(ctx)
}
