package redis

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fleet"
)

// objectMemory is what the operator may forget of one object at any time: it belongs to the object's pass, of which only one runs at a
// time.
type objectMemory struct {
	fleet.Memory
	writtenClaims map[string]writtenClaim // by name, while the cache may not show them
	deletedPods   map[types.UID]time.Time // that ran no server, and when the deletion of each was requested
	// backupSize is that of the backup to start with, in bytes, if the last pod's node had no room for it; else 0. The next pod
	// requests as much. An operator that restarts forgets it, and learns it again from the next pod without room.
	backupSize int64
}

// Init prepares an empty memory.
func (o *objectMemory) Init() {
	o.Memory.Init()
	o.writtenClaims = map[string]writtenClaim{}
	o.deletedPods = map[types.UID]time.Time{}
}
