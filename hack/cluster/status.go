package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"
)

// status prints every part, and fails unless all of them are healthy.
func status(ctx context.Context, l layout) error {
	if err := l.refuseForeign(); err != nil {
		return err
	}
	if _, err := os.Stat(l.pki("ca.crt")); err != nil {
		return errors.New("the cluster is down: go run -C hack/cluster . up")
	}
	a, err := newAPI(l, "admin")
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "PART\tSTATE\tPID\tLOG")
	sick := 0
	for _, p := range append([]part{etcdPart(l), containerdPart(l)}, apiParts(l, a)...) {
		state, pid := "down", "-"
		if process, alive := running(p.name); alive {
			state, pid = "up", fmt.Sprint(process.pid)
			if err := checkBriefly(ctx, p); err != nil {
				state = "not healthy"
			}
		}
		if state != "up" {
			sick++
		}
		log, _ := filepath.Rel(l.Root, l.log(p.name))
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", p.name, state, pid, log)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if sick > 0 {
		return fmt.Errorf("%d parts are not up: go run -C hack/cluster . up repairs them", sick)
	}
	return nil
}

func checkBriefly(ctx context.Context, p part) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return p.healthy(ctx)
}
