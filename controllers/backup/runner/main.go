// Command backup-runner makes, reads and verifies the backups of one object: see backup.Task. It is in the operator's image, and
// runs in pods of the object's namespace.
package main

import (
	"os"
	"runtime/debug"

	"github.com/mainstay-operator/mainstay-operator/controllers/backup/internal/runner"
)

func main() {
	debug.SetMemoryLimit(runner.MemoryLimit)
	os.Exit(runner.Main(os.Args[1:], runner.InPod()))
}
