package redis

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/cluster"
)

// sitting is how many faults one Redis takes before the next is made: no watch grows old, and some
// faults find a Redis that is new.
const sitting = 20

// sharedRedis is a Redis that one row after the other harms. Each finds it whole: a row starts
// with waitUntilHealed.
type sharedRedis struct {
	*cachev1alpha1.Redis
	faults, uses int
}

// whole are those that a row has left whole, without and with volumes.
var whole = map[bool]*sharedRedis{}

// shareSubject gives a row a Redis for so many faults, and the way to leave it to the next row. When the
// spec fails, no other spec gets it.
func shareSubject(ctx context.Context, f faultRow, times int) (s *subject, leave func(context.Context) error) {
	GinkgoHelper()
	if f.alone {
		discardShared(ctx)
	}
	if f.own {
		s = newSubject(ctx, f)
		return s, func(ctx context.Context) error { return discard(ctx, s.Namespace) }
	}
	r := whole[f.storage]
	delete(whole, f.storage)
	if r != nil && r.faults+times > sitting {
		Expect(discard(ctx, r.Namespace)).To(Succeed())
		r = nil
	}
	if r == nil {
		r = &sharedRedis{Redis: newRedis(ctx, createNamespace(ctx).Name, f)}
	}
	r.faults, r.uses = r.faults+times, r.uses+1
	DeferCleanup(func(ctx context.Context) {
		if spec := CurrentSpecReport(); spec.Failed() {
			GinkgoWriter.Print(cluster.Diagnose(ctx, r.Namespace, spec.StartTime))
			if whole[f.storage] == r { // the spec failed after it had left the Redis
				delete(whole, f.storage)
			}
			Expect(discard(ctx, r.Namespace)).To(Succeed())
		}
	})
	return start(ctx, r.Redis, r.uses), func(context.Context) error {
		whole[f.storage] = r
		return nil
	}
}

// discardShared removes what rows have left.
func discardShared(ctx context.Context) {
	for _, r := range whole {
		Expect(discard(ctx, r.Namespace)).To(Succeed())
	}
	clear(whole)
}

// discard a namespace, with all that is in it.
func discard(ctx context.Context, namespace string) error {
	return client.IgnoreNotFound(k8s.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
}
