package backup

import (
	"slices"
	"time"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

// abandonedAfter is for how long an item without manifest may still be written: a run's attempts begin within startingDeadline, at
// most a day, and the last of them takes its time.
const abandonedAfter = 48 * time.Hour

// Expired returns the items that retention deletes, the oldest first. Items are in the order of Items; verify says that only verified
// ones count for keepLast. Now is the earlier one of the runner's clock and the time of its task: a clock that is ahead must not
// make all items old.
//
// An item is kept if any of these is so: it is the newest of all, or the newest verified one; it is one of the newest keepLast; it is
// no older than keepFor; it is later than now, which also keeps it from counting for keepLast.
func Expired(items []Item, rule *commonv1.BackupRetention, verify bool, now time.Time) (expired []Item) {
	if rule == nil {
		return nil
	}
	r := retention{rule: rule, verify: verify, now: now}
	for _, item := range items {
		if !r.keeps(item) {
			expired = append(expired, item)
		}
	}
	slices.Reverse(expired)
	return expired
}

// retention judges one item after the other, from the newest on.
type retention struct {
	rule   *commonv1.BackupRetention
	verify bool
	now    time.Time

	counted            int32
	seen, seenVerified bool
}

func (r *retention) keeps(item Item) bool {
	age := r.now.Sub(item.Time)
	if !item.Complete {
		return age <= abandonedAfter
	}
	newest, newestVerified := !r.seen, item.Verified && !r.seenVerified
	r.seen, r.seenVerified = true, r.seenVerified || item.Verified
	counts := age >= 0 && (item.Verified || !r.verify)
	if counts {
		r.counted++
	}
	switch {
	case newest, newestVerified, age < 0:
		return true
	case counts && r.rule.KeepLast != nil && r.counted <= *r.rule.KeepLast:
		return true
	}
	return r.rule.KeepFor != nil && age <= r.rule.KeepFor.Duration
}
