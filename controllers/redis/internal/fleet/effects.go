package fleet

import (
	"context"
	"time"

	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

// Effects are what a failover depends on besides the servers: its writes to the API server, and
// how time goes by. A test that simulates these and the servers controls every decision about the master.
// The route, roles on pods, growing volumes, annotations that are done with, and events are written without them.
type Effects interface {
	// Save writes the object's status, if no one has changed the object since it was read. If there is nothing to
	// write, it asks the API server: an operator that continues after a save knows that it was not replaced before.
	Save(ctx context.Context) error
	// CheckUnchanged asks the API server whether the object is still what the cache showed.
	CheckUnchanged(ctx context.Context) error
	// CheckStamps asks the API server whether the volumes' stamps are still what the cache showed.
	CheckStamps(ctx context.Context) error
	// WriteStamp writes on a node's volume what its data is worth.
	WriteStamp(ctx context.Context, node string, s topology.Stamp) error
	// DeletePod deletes exactly the pod that was looked at.
	DeletePod(ctx context.Context, name string, options ...ctrlclient.DeleteOption) error
	// CreateSource makes the pod that serves the backup, unless it is there; DeleteSource deletes exactly the one that was looked at.
	CreateSource(ctx context.Context) error
	DeleteSource(ctx context.Context) error
	// RunAll runs all functions at once and returns when they have ended. One that panics ends nothing but itself.
	RunAll(ctx context.Context, all []func())
	// AwaitRetry waits before the next try. It fails when there is no time left.
	AwaitRetry(ctx context.Context) error
}

// RetryInterval is the time between two looks at a replica that must catch up within one act.
const RetryInterval = 2 * time.Millisecond
