package fault

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// ruleComment marks our rules.
	ruleComment = "mainstay-fault"
	// afterlife of a rule beyond the time that it was asked for: a test that was
	// killed leaves no pod cut off for longer.
	afterlife = time.Minute
)

// Partition drops every packet between a pod and its peers, both ways and without a
// word; with no peers, between the pod and everybody. The rules are the pod's
// own, in its network namespace: they touch no other pod, go with it, and end by
// themselves a minute after the time that they are asked for.
func Partition(ctx context.Context, pod types.UID, program string, lasting time.Duration, peers ...string) (undo func() error, err error) {
	all, err := Processes(pod, program)
	if err != nil {
		return nil, err
	}
	// Held open: the process may be gone when this is undone.
	namespace, err := os.Open(filepath.Join("/proc", strconv.Itoa(all[0]), "ns", "net"))
	if err != nil {
		return nil, err
	}
	rules := partitionRules(time.Now().Add(lasting+afterlife), peers)
	undo = func() error {
		var errs []error
		for _, rule := range rules {
			errs = append(errs, iptables(context.WithoutCancel(ctx), namespace, append([]string{"--delete"}, rule...)))
		}
		return errors.Join(append(errs, namespace.Close())...)
	}
	for i, rule := range rules {
		if err := iptables(ctx, namespace, append([]string{"--append"}, rule...)); err != nil {
			rules = rules[:i]
			return nil, errors.Join(err, undo())
		}
	}
	return undo, nil
}

// partitionRules are the rules, without the verb.
func partitionRules(until time.Time, peers []string) [][]string {
	end := []string{"--match", "time", "--datestop", until.UTC().Format("2006-01-02T15:04:05"),
		"--match", "comment", "--comment", ruleComment, "--jump", "DROP"}
	if len(peers) == 0 {
		return [][]string{
			append([]string{"INPUT", "!", "--in-interface", "lo"}, end...),
			append([]string{"OUTPUT", "!", "--out-interface", "lo"}, end...),
		}
	}
	var rules [][]string
	for _, peer := range peers {
		rules = append(rules,
			append([]string{"INPUT", "--source", peer}, end...),
			append([]string{"OUTPUT", "--destination", peer}, end...))
	}
	return rules
}

// iptables of a network namespace, by the file that stands for it.
func iptables(ctx context.Context, namespace *os.File, args []string) error {
	command := exec.CommandContext(ctx, "nsenter", append([]string{"--net=/proc/self/fd/3", "iptables", "--wait"}, args...)...)
	command.ExtraFiles = []*os.File{namespace} // descriptor 3 there
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("iptables %v: %w: %s", args, err, output)
	}
	return nil
}
