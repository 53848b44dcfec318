package main

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
)

// ruleComment marks the rules that we add ourselves.
const ruleComment = "mainstay-cluster"

// clearRules removes the chains of kube-proxy, kubelet and the network
// plugins, every rule that leads to them, and our own; nothing else is
// touched.
func clearRules(ctx context.Context) error {
	for _, family := range []string{"iptables", "ip6tables"} {
		if _, err := exec.LookPath(family + "-save"); err != nil {
			continue
		}
		rules, err := output(ctx, family+"-save")
		if err != nil {
			continue // this kernel has no such tables, so they hold nothing
		}
		removal := removalOf(rules)
		if removal == "" {
			continue
		}
		if _, err := outputWithInput(ctx, removal, family+"-restore", "--noflush"); err != nil {
			return err
		}
	}
	return nil
}

// noOtherKubernetes refuses a machine that is a node of another cluster,
// whose rules ours would fight with.
func noOtherKubernetes(ctx context.Context) error {
	if program, _ := exec.LookPath("iptables-save"); program == "" {
		return nil // there are no rules
	}
	rules, err := output(ctx, "iptables-save")
	if err == nil && strings.Contains(rules, ":KUBE-SERVICES") {
		return errors.New("this machine is a node of another Kubernetes (iptables has chain KUBE-SERVICES): use that one, by its KUBECONFIG, " +
			"or another machine")
	}
	return nil
}

// removalOf turns the output of iptables-save into the input of
// iptables-restore that takes our part away, in one transaction per table.
func removalOf(rules string) string {
	var out, deletes, chains []string
	for line := range strings.Lines(rules) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "*"):
			out, deletes, chains = append(out, line), nil, nil
		case strings.HasPrefix(line, ":"):
			if name := strings.Fields(line[1:])[0]; clusterChain(name) {
				chains = append(chains, name)
			}
		case strings.HasPrefix(line, "-A "):
			if fields := strings.Fields(line); !clusterChain(fields[1]) && leadsToUs(fields) {
				deletes = append(deletes, "-D"+line[2:])
			}
		case line == "COMMIT":
			out = append(out[:len(out)-1], table(out[len(out)-1], deletes, chains)...)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return strings.Join(out, "\n") + "\n"
}

// table empties all chains before it removes any, since they refer to each
// other.
func table(name string, deletes, chains []string) []string {
	if len(deletes)+len(chains) == 0 {
		return nil
	}
	lines := []string{name}
	for _, chain := range chains {
		lines = append(lines, ":"+chain+" - [0:0]")
	}
	lines = append(lines, deletes...)
	for _, chain := range chains {
		lines = append(lines, "-X "+chain)
	}
	return append(lines, "COMMIT")
}

func clusterChain(name string) bool {
	return strings.HasPrefix(name, "KUBE-") || strings.HasPrefix(name, "CNI-")
}

func leadsToUs(rule []string) bool {
	for i, field := range rule[:len(rule)-1] {
		if (field == "-j" || field == "-g") && clusterChain(rule[i+1]) {
			return true
		}
	}
	return slices.Contains(rule, ruleComment)
}

// acceptPodTraffic lets pods talk on a machine that forwards nothing by
// default, as one that has had a container engine does.
func acceptPodTraffic(ctx context.Context) error {
	policy, err := output(ctx, "iptables", "--wait", "-S", "FORWARD")
	if err != nil {
		return err
	}
	if !strings.HasPrefix(policy, "-P FORWARD DROP") || strings.Contains(policy, ruleComment) {
		return nil
	}
	for _, direction := range []string{"-i", "-o"} {
		_, err := output(ctx, "iptables", "--wait", "-A", "FORWARD", direction, bridge,
			"-m", "comment", "--comment", ruleComment, "-j", "ACCEPT")
		if err != nil {
			return err
		}
	}
	return nil
}
