package redis

import (
	"time"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fleet"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// pass is one pass over one Redis. Its steps are read, Look, Plan, Act, apply and report, in this order.
type pass struct {
	*Reconciler
	// Fleet has the object from the start, and what read and Look find out about it and its servers.
	*fleet.Fleet
	// known is what earlier passes over the object have left.
	known *objectMemory
	// effects are the writes that the fleet makes.
	effects *apiEffects

	// recheck is when to read again after read has failed; 0 if only a change helps. A certificate that is not valid yet becomes
	// valid with time.
	recheck time.Duration
	// acceptedSettings are those that the servers accepted before this pass. read fills them in.
	acceptedSettings config.Settings

	// step is what was done, or what is to be waited for. Act fills it in.
	step topology.Step

	// observed are the children as the API server has them. apply fills them in.
	observed converge.Observed
	// recheckPods is when to look again at pods that do not start; 0 for never. apply fills it in.
	recheckPods time.Duration
	// isOutdated says that the pass has changed what it saw, so that another is due at once. apply fills it in.
	isOutdated bool
}
