package main

import (
	"context"
	"fmt"
	"os"
)

// printSummary shows what there is now, and what to do with it.
func (d *demo) printSummary(ctx context.Context) error {
	fmt.Printf("\n=== kubectl get mainstay -A\n")
	if err := d.show(ctx, "kubectl", "get", "mainstay", "-A"); err != nil {
		return err
	}
	fmt.Printf(`
=== try next   (export KUBECONFIG=%s PATH=%s/.bin:$PATH; make demo-down removes everything)
kubectl scale memcached/sample-cache --replicas=3; kubectl get memcached -w
kubectl delete deployment web; kubectl get easyservice -w
kubectl delete pod --force "$(kubectl get redis sample-redis -o jsonpath={.status.master})"; kubectl get redis -w
`, os.Getenv("KUBECONFIG"), d.root)
	return nil
}
