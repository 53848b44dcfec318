package fault

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

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
// that many bytes: the program goes on and finds no room.
func FillDisk(pod types.UID, program, folder string, limit int64) (mend func() error, err error) {
	all, err := processes(pod, program)
	if err != nil {
		return nil, err
	}
	// Held open: the program may be another when it is mended.
	folder = filepath.Join("/proc", strconv.Itoa(all[0]), "root", folder)
	ballast, err := os.OpenFile(filepath.Join(folder, "ballast"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	mend = func() error { return errors.Join(ballast.Truncate(0), ballast.Close()) }
	for chunk, written := make([]byte, 1<<16), int64(0); len(chunk) > 0; {
		n, err := ballast.Write(chunk)
		written += int64(n)
		switch {
		case errors.Is(err, syscall.ENOSPC):
			chunk = chunk[:len(chunk)/2] // to the last byte
		case err != nil:
			return nil, errors.Join(err, mend())
		case written > limit:
			return nil, errors.Join(fmt.Errorf("%s is on a disk of more than %d bytes", folder, limit), mend())
		}
	}
	return mend, nil
}

// damageDisk damages a folder of a program that is stopped before and killed after, so
// that it can neither notice nor write again.
func damageDisk(pod types.UID, program, folder string, how func(folder string) error) error {
	if _, err := Hang(pod, program); err != nil {
		return err
	}
	all, err := processes(pod, program)
	if err == nil {
		// What the program sees at its root, mounts included.
		err = how(filepath.Join("/proc", strconv.Itoa(all[0]), "root", folder))
	}
	return errors.Join(err, Kill(pod, program))
}
