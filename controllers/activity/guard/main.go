// Command guard is started in place of an Activity's command that has args, and
// becomes it, unless it was started before. It lies in the operator's image, from
// where an init container copies it into the pod.
package main

import (
	"os"

	"github.com/mainstay-operator/mainstay-operator/controllers/activity/internal/guard"
)

func main() { os.Exit(guard.Main(os.Args[1:], guard.TerminationLog)) }
