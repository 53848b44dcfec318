package fault

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// Starve keeps every core of this node busy: with one process for each, which
// ends by itself after the time.
func Starve(ctx context.Context, lasting time.Duration) (undo func() error, err error) {
	var busy []*exec.Cmd
	undo = func() error {
		var errs []error
		for _, command := range busy {
			if err := command.Process.Signal(syscall.SIGTERM); !errors.Is(err, syscall.ESRCH) {
				errs = append(errs, err)
			}
			_ = command.Wait() // it was ended
		}
		return errors.Join(errs...)
	}
	for range runtime.NumCPU() {
		command := exec.CommandContext(context.WithoutCancel(ctx), "timeout", strconv.Itoa(int(lasting.Seconds())), "sh", "-c",
			"while :; do :; done")
		if err := command.Start(); err != nil {
			return nil, errors.Join(err, undo())
		}
		busy = append(busy, command)
	}
	return undo, nil
}
