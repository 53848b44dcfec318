package fleet

import (
	"context"
	"errors"
	"maps"
	"slices"
)

// WritePermits writes on each pod whether and how it may start. The claims are stamped first: no server may write data that a later
// object of this name would not know of.
func (f *Fleet) WritePermits(ctx context.Context) error {
	f.relink()
	permits := f.Situation().MissingPermits()
	if len(permits) == 0 {
		return nil
	}
	if err := f.stampClaims(ctx); err != nil {
		return err
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(permits)) {
		m, _ := f.Find(name)
		errs = append(errs, f.Effects.WritePermit(ctx, name, permits[name], m.Pod.ClaimUID))
	}
	return errors.Join(errs...)
}

// relink has the members point to what is recorded now: a step may have put another record in its place.
func (f *Fleet) relink() {
	for i := range f.Members {
		f.Members[i].Record = nil
		for j := 0; f.Cluster.Status.Membership != nil && j < len(f.Cluster.Status.Membership.Members); j++ {
			if recorded := &f.Cluster.Status.Membership.Members[j]; recorded.Name == f.Members[i].Name {
				f.Members[i].Record = recorded
			}
		}
	}
}
