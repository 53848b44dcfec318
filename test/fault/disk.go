package fault

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"
)

// WipeDisk kills a pod's program and takes away all that it keeps in a folder, as
// a disk does that was replaced.
func WipeDisk(pod types.UID, program, folder string) error {
	return damageDisk(pod, program, folder, func(folder string) error {
		entries, err := os.ReadDir(folder)
		for _, entry := range entries {
			err = errors.Join(err, os.RemoveAll(filepath.Join(folder, entry.Name())))
		}
		return err
	})
}

// TruncateFile kills a pod's program and takes the last bytes off the one file that
// matches the pattern, as a power failure does.
func TruncateFile(pod types.UID, program, pattern string, bytes int64) error {
	return damageDisk(pod, program, filepath.Dir(pattern), func(folder string) error {
		files, err := filepath.Glob(filepath.Join(folder, filepath.Base(pattern)))
		if err != nil {
			return err
		}
		if len(files) != 1 {
			return fmt.Errorf("%d files match %s", len(files), pattern)
		}
		file, err := os.Stat(files[0])
		if err != nil {
			return err
		}
		return os.Truncate(files[0], max(0, file.Size()-bytes))
	})
}

// FillDisk fills the disk that a pod's program keeps a folder on, which is no larger than
// that many bytes: the program continues and finds no room.
func FillDisk(pod types.UID, program, folder string, limit int64) (undo func() error, err error) {
	all, err := Processes(pod, program)
	if err != nil {
		return nil, err
	}
	// Held open: the program may be another when it is undone.
	folder = filepath.Join("/proc", strconv.Itoa(all[0]), "root", folder)
	ballast, err := os.OpenFile(filepath.Join(folder, "ballast"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	undo = func() error { return errors.Join(ballast.Truncate(0), ballast.Close()) }
	for chunk, written := make([]byte, 1<<16), int64(0); len(chunk) > 0; {
		n, err := ballast.Write(chunk)
		written += int64(n)
		switch {
		case errors.Is(err, syscall.ENOSPC):
			chunk = chunk[:len(chunk)/2] // to the last byte
		case err != nil:
			return nil, errors.Join(err, undo())
		case written > limit:
			return nil, errors.Join(fmt.Errorf("%s is on a disk of more than %d bytes", folder, limit), undo())
		}
	}
	return undo, nil
}

// CopyDisk copies what a pod's program keeps in a folder to another one. It stops the program meanwhile, so that nothing is half
// written; what was reserved and never written takes no room in the copy.
func CopyDisk(ctx context.Context, pod types.UID, program, folder, to string) error {
	undo, err := Hang(pod, program)
	if err != nil {
		return err
	}
	all, err := Processes(pod, program)
	if err == nil {
		from := filepath.Join("/proc", strconv.Itoa(all[0]), "root", folder)
		command := exec.CommandContext(ctx, "cp", "--recursive", "--sparse=always", from+"/.", to)
		if output, failed := command.CombinedOutput(); failed != nil {
			err = fmt.Errorf("copying %s: %w: %s", from, failed, output)
		}
	}
	return errors.Join(err, undo())
}

// SlowDisk lets a pod's program write no more often than so many times a second to the disk that it keeps a folder on.
func SlowDisk(pod types.UID, program, folder string, writes int) (undo func() error, err error) {
	all, err := Processes(pod, program)
	if err != nil {
		return nil, err
	}
	process := filepath.Join("/proc", strconv.Itoa(all[0]))
	var file syscall.Stat_t
	if err := syscall.Stat(filepath.Join(process, "root", folder), &file); err != nil {
		return nil, err
	}
	disk, err := wholeDisk(fmt.Sprintf("%d:%d", unix.Major(file.Dev), unix.Minor(file.Dev)))
	if err != nil {
		return nil, err
	}
	groups, err := os.ReadFile(filepath.Join(process, "cgroup"))
	if err != nil {
		return nil, err
	}
	throttle, limit, unlimited, err := throttling(string(groups), disk, writes)
	if err != nil {
		return nil, err
	}
	// The group may be gone when it is undone, and its limit with it.
	undo = func() error {
		if err := os.WriteFile(throttle, []byte(unlimited), 0); !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	return undo, os.WriteFile(throttle, []byte(limit), 0)
}

// wholeDisk is the number of the disk that a partition is of: limits are for whole disks.
func wholeDisk(number string) (string, error) {
	device := filepath.Join("/sys/dev/block", number)
	if _, err := os.Stat(filepath.Join(device, "partition")); err == nil {
		device = filepath.Join(device, "..")
	}
	disk, err := os.ReadFile(filepath.Join(device, "dev"))
	return strings.TrimSpace(string(disk)), err
}

// throttling is the file that limits the writes of a process to a disk, and what to write to it. groups are those of the
// process, as in https://man7.org/linux/man-pages/man7/cgroups.7.html.
func throttling(groups, disk string, writes int) (file, limit, unlimited string, err error) {
	for line := range strings.Lines(groups) {
		number, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		switch {
		case controllers == "blkio":
			return filepath.Join("/sys/fs/cgroup/blkio", group, "blkio.throttle.write_iops_device"),
				fmt.Sprintf("%s %d", disk, writes), disk + " 0", nil
		case number == "0" && controllers == "":
			file = filepath.Join("/sys/fs/cgroup", group, "io.max")
			limit, unlimited = fmt.Sprintf("%s wiops=%d", disk, writes), disk+" wiops=max"
		}
	}
	if file == "" {
		err = errors.New("the process is in no group that could limit its writes")
	}
	return file, limit, unlimited, err
}

// damageDisk damages a folder of a program that is stopped before and killed after, so
// that it can neither notice nor write again.
func damageDisk(pod types.UID, program, folder string, how func(folder string) error) error {
	if _, err := Hang(pod, program); err != nil {
		return err
	}
	all, err := Processes(pod, program)
	if err == nil {
		// What the program sees at its root, mounts included.
		err = how(filepath.Join("/proc", strconv.Itoa(all[0]), "root", folder))
	}
	return errors.Join(err, Kill(pod, program))
}
