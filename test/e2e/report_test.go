package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"

	"github.com/mainstay-operator/mainstay-operator/test/cluster"
)

// What a person would look at first, written out when a spec has failed.
var _ = JustAfterEach(func(ctx context.Context) {
	if spec := CurrentSpecReport(); spec.Failed() {
		GinkgoWriter.Print(cluster.Diagnose(ctx, namespace, spec.StartTime))
	}
})
