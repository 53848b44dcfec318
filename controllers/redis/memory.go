package redis

import (
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fleet"
)

// objectMemory is what the operator may forget of one object at any time: it belongs to the object's pass, of which only one runs at a
// time.
type objectMemory struct {
	fleet.Memory
	writtenClaims map[string]writtenClaim // by name, while the cache may not show them
}

// Init prepares an empty memory.
func (o *objectMemory) Init() {
	o.Memory.Init()
	o.writtenClaims = map[string]writtenClaim{}
}
