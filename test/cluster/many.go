package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pollInterval is how often DeleteNamespaces checks.
const pollInterval = 500 * time.Millisecond

// ForEach calls do once for each number from 0 to n-1, in that many workers, until a call fails or ctx ends. It waits for the calls that
// run, and returns their errors. The end of ctx is not an error.
func ForEach(ctx context.Context, workers, n int, do func(i int) error) error {
	starting, stop := context.WithCancel(ctx)
	defer stop()
	var next atomic.Int64
	var working sync.WaitGroup
	errs := make([]error, workers)
	for w := range workers {
		working.Go(func() {
			for starting.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if errs[w] = do(i); errs[w] != nil {
					stop()
				}
			}
		})
	}
	working.Wait()
	return errors.Join(errs...)
}

// DeleteNamespaces deletes them, and waits until all that is in them has gone.
func DeleteNamespaces(ctx context.Context, c client.Client, within time.Duration, names ...string) error {
	var errs []error
	for _, name := range names {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		errs = append(errs, client.IgnoreNotFound(c.Delete(ctx, namespace)))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	var last error
	err := wait.PollUntilContextTimeout(ctx, pollInterval, within, true, func(ctx context.Context) (bool, error) {
		last = checkGone(ctx, c, names)
		return last == nil, nil
	})
	return errors.Join(err, last)
}

// checkGone returns an error while one of the namespaces exists.
func checkGone(ctx context.Context, c client.Client, names []string) error {
	for _, name := range names {
		var namespace corev1.Namespace
		err := c.Get(ctx, client.ObjectKey{Name: name}, &namespace)
		if err == nil {
			return fmt.Errorf("namespace %s is still there: %v", name, namespace.Status.Conditions)
		}
		if err := client.IgnoreNotFound(err); err != nil {
			return err
		}
	}
	return nil
}
