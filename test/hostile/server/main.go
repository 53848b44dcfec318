// Command server is a hostile server in a pod. It bears the name of the program whose place it
// takes, redis-server or memcached, is started as that one is, and is of the sort that its pod is
// named after: <sort>-<ordinal>.
package main

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mainstay-operator/mainstay-operator/test/hostile"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "hostile:", err)
		os.Exit(1)
	}
}

func run() error {
	pod, err := os.Hostname()
	if err != nil {
		return err
	}
	sort := pod
	if i := strings.LastIndexByte(pod, '-'); i >= 0 {
		sort = pod[:i]
	}
	listener, err := net.Listen("tcp", ":"+port())
	if err != nil {
		return err
	}
	if chain, key := option("ssl_chain_cert"), option("ssl_key"); chain != "" {
		pair, err := tls.LoadX509KeyPair(chain, key)
		if err != nil {
			return err
		}
		listener = tls.NewListener(listener, &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}})
	}
	return hostile.Serve(listener, hostile.Behavior(sort))
}

// port is Redis' own, or the one that memcached's arguments name.
func port() string {
	if filepath.Base(os.Args[0]) != "memcached" {
		return "6379"
	}
	chosen := ""
	if i := slices.Index(os.Args, "-p"); i >= 0 && i+1 < len(os.Args) {
		chosen = os.Args[i+1]
	}
	return cmp.Or(chosen, "11211")
}

// option of memcached, from what follows -o.
func option(name string) string {
	for _, arg := range os.Args {
		for setting := range strings.SplitSeq(arg, ",") {
			if value, is := strings.CutPrefix(setting, name+"="); is {
				return value
			}
		}
	}
	return ""
}
