package main

import (
	"context"
	"fmt"
	"os"
)

// farewell shows what there is now, and what to do with it.
func (d *demo) farewell(ctx context.Context) error {
	fmt.Printf("\n=== kubectl get mainstay -A\n")
	if err := d.show(ctx, "kubectl", "get", "mainstay", "-A"); err != nil {
		return err
	}
	fmt.Printf(`
=== try next   (export KUBECONFIG=%s PATH=%s/.bin:$PATH)
kubectl scale memcached/sample-cache --replicas=3 && kubectl get memcached -w
kubectl delete service sample-web                 # and look again: it is back
kubectl explain redis.spec                        # make demo-down removes everything
`, os.Getenv("KUBECONFIG"), d.root)
	return nil
}
