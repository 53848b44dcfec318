package launcher

import (
	"context"
	"fmt"
	"os"
	"slices"
)

// forcedMarker is the file on the volume that names the last recovery which this data went through.
func forcedMarker(volume, data string) string { return volume + "/forced-" + data }

// forceOnce makes the member a cluster of one, if this recovery has not done so yet. A server that did so and was served from
// would do it again when its container restarts, and drop members that were added since. So it is done by a server that
// no client reaches, and saved before one is started that serves. Killed between the two, it is done again: no client was served, so
// nothing is dropped that anybody relies on.
func forceOnce(command []string, permit Permit, at Paths) error {
	marker := forcedMarker(at.Data, permit.Data)
	if done, err := os.ReadFile(marker); err == nil && string(done) == permit.Force {
		return nil
	} else if err != nil && !os.IsNotExist(err) {
		return err
	}
	if err := force(command, at.Loopback, permit.MinRevision); err != nil {
		return fmt.Errorf("making the member a cluster of one: %w", err)
	}
	return writeDurable(marker, permit.Force, at.Data)
}

// force runs a server that makes its member a cluster of one, until it is one. It returns a belowAllowedError if its keys end below
// minRevision.
func force(command []string, address string, minRevision int64) error {
	return onLoopback(forcedCommand(command), address, func(_ context.Context, server loopbackServer) error {
		return checkRevision(server.metrics, minRevision)
	})
}

// forcedCommand has etcd make its member a cluster of one.
func forcedCommand(command []string) []string {
	return append(slices.Clone(command), "--force-new-cluster")
}
