package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// errClaimsChanged says that the claims are not as they were when the plan decided to reuse their volumes.
var errClaimsChanged = errors.New("the claims of the former EtcdCluster have changed: looking again")

// errTooLate says that the time of an act was over before it started, as when the claims got their stamps slowly.
var errTooLate = errors.New("the time of this step was over before it started, as when the API server is slow to write the " +
	"PersistentVolumeClaims: looking again")

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
	return f.writeStamps(ctx)
}

// StampAhead stamps the claims before an act. It may take longer than an act may, because the API server may take longer for one claim, as
// with a slow webhook. If the record needs another revision, it leaves the stamps to Act: once that is saved, the pass counts its object
// as the newest until it ends, so it must end soon.
func (f *Fleet) StampAhead(ctx context.Context) error {
	if s := f.Situation(); !s.AreStampsDue() || s.IsRevisionTaken() {
		return nil
	}
	return f.writeStamps(ctx)
}

// writeStamps writes the record, which has its revision, on the claims that have another stamp.
func (f *Fleet) writeStamps(ctx context.Context) error {
	stamp := f.Situation().Stamp()
	if err := f.Effects.StampClaims(ctx, stamp); err != nil {
		return fmt.Errorf("stamping the claims with the record: %w", err)
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
