package redis

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/mainstay-operator/mainstay-operator/test/cluster"
)

// smallDisk is what a small disk holds, in bytes, whatever its volume says.
const smallDisk = 16 << 20

// newSmallDisks makes so many volumes of a class, which can be filled up.
func newSmallDisks(ctx context.Context, class string, count int) {
	GinkgoHelper()
	for range count {
		_, remove, err := cluster.SmallDisk(ctx, k8s, class, smallDisk)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx context.Context) { Expect(remove(ctx)).To(Succeed()) })
	}
}
