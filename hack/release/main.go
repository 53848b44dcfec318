// Command release makes what users install from: images of two architectures as OCI image layouts, manifests that name them by
// digest, a bundle, a catalog, SBOMs, and checksums of all. It needs no container engine.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

const usage = `usage: go run -C hack/release . COMMAND

  build --output FOLDER --image NAME:TAG --version V --revision COMMIT --epoch SECONDS [--operands REGISTRY]
                                      make a release, without its sums
  sums FOLDER                         write the sums of a release, and check it
  check FOLDER                        fail unless sums, layouts and digests of a release agree
  digests [--registry HOST] FILE      write the digest of each operand into their file, or nothing unless all registries answer
  push [--registry HOST] FILE...      push images and charts by digest, and tag them when all are pushed; print each name and digest

"go run -C" makes hack/release the working folder: paths are absolute.
`

var commands = map[string]func(context.Context, []string) error{"build": runBuild, "sums": runSums, "check": runCheck,
	"digests": runDigests, "push": runPush}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		fmt.Fprint(os.Stderr, usage)
		return errors.New("no command given")
	}
	command, known := commands[args[0]]
	if !known {
		fmt.Fprint(os.Stderr, usage)
		return fmt.Errorf("unknown command %q", args[0])
	}
	return command(ctx, args[1:])
}
