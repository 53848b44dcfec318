package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
)

// What a person would look at first, written out when a spec has failed.
var _ = JustAfterEach(func(ctx context.Context) {
	spec := CurrentSpecReport()
	if !spec.Failed() {
		return
	}
	since := fmt.Sprintf("--since=%ds", int(time.Since(spec.StartTime).Seconds())+1)
	for _, question := range [][]string{
		{"get", "mainstay", "--namespace", namespace, "-o", "yaml"},
		{"get", "all,configmaps,poddisruptionbudgets,persistentvolumeclaims", "--namespace", namespace, "-o", "wide"},
		{"get", "events", "--namespace", namespace, "--sort-by=.metadata.creationTimestamp"},
		{"get", "pods", "--namespace", operatorNamespace, "-o", "wide"},
		{"logs", "--namespace", operatorNamespace, "--selector=control-plane=controller-manager", "--prefix", "--tail=200", since},
	} {
		answer, err := runKubectl(ctx, question...)
		if err != nil {
			answer = err.Error()
		}
		GinkgoWriter.Printf("\n--- kubectl %v\n%s\n", question, answer)
	}
})
