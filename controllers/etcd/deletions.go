package etcd

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// deletionLag is how long the cache may show an object as it was before the operator deleted it.
const deletionLag = 30 * time.Second

// deletions are what the operator deleted shortly before, and when.
type deletions map[types.UID]time.Time

func (d *deletions) note(uid types.UID, now time.Time) {
	maps.DeleteFunc(*d, func(_ types.UID, at time.Time) bool { return now.Sub(at) >= deletionLag })
	if *d == nil {
		*d = deletions{}
	}
	(*d)[uid] = now
}

// has reports whether the operator has deleted the object, which the cache may not show yet.
func (d deletions) has(uid types.UID, now time.Time) bool {
	at, deleted := d[uid]
	return deleted && now.Sub(at) < deletionLag
}
