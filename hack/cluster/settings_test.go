package main

import (
	"strings"
	"testing"
)

// A kubelet does not start with a field whose feature gate is off, and warns about a field that it does not know.
func TestTheKubeletIsConfiguredForItsVersion(t *testing.T) {
	const backOff, gate = "\ncrashLoopBackOff: {maxContainerRestartPeriod: 1s}\n", "\nfeatureGates: {KubeletCrashLoopBackOffMax: true}\n"
	for version, want := range map[string][]string{
		"v1.31.14": nil, "v1.32.0": {backOff, gate}, "v1.33.13": {backOff, gate}, "v1.34.9": {backOff, gate}, "v1.35.4": {backOff},
		defaultVersion: {backOff},
	} {
		files, err := settings{layout: layout{Root: "/root", version: version}, kubeletLimits: kubeletLimitsOf(version)}.render()
		if err != nil {
			t.Fatal(err)
		}
		kubelet, found := string(files["kubelet.yaml"]), 0
		for _, line := range []string{backOff, gate} {
			found += strings.Count(kubelet, line)
		}
		for _, line := range want {
			if !strings.Contains(kubelet, line) {
				t.Errorf("the kubelet of %s lacks %q:\n%s", version, line, kubelet)
			}
		}
		if found != len(want) {
			t.Errorf("the kubelet of %s has %d lines about its back-off, not %d:\n%s", version, found, len(want), kubelet)
		}
		if strings.Contains(kubelet, "\n\n") || !strings.Contains(kubelet, "\n# A changed Secret") {
			t.Errorf("the kubelet of %s reads\n%s", version, kubelet)
		}
	}
}
