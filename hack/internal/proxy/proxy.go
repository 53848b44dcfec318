// Package proxy keeps the user's HTTP proxy out of the way to the local cluster.
package proxy

import (
	"cmp"
	"errors"
	"os"
)

// What the local cluster's addresses are from: its pods', with the node's, and its Services'.
const (
	Pods     = "10.88.0.0/16"
	Services = "10.96.0.0/16" // wide enough for thousands of Services
)

// local needs no proxy. The Makefile has the same, for what it starts itself.
const local = "localhost,127.0.0.0/8," + Pods + "," + Services + ",.svc,.cluster.local"

// Bypass has this process, and all that it starts, reach the local cluster directly,
// in addition to what the user reaches so already. The variable is his in one of two spellings.
func Bypass() error {
	direct := local
	if his := cmp.Or(os.Getenv("NO_PROXY"), os.Getenv("no_proxy")); his != "" {
		direct = his + "," + local
	}
	return errors.Join(os.Setenv("NO_PROXY", direct), os.Setenv("no_proxy", direct))
}
