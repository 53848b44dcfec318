// Package install copies the program that runs: an init container puts it on a volume of the pod, for the other containers. Such a
// program is copied for each pod, so this package imports little.
package install

import (
	"errors"
	"io"
	"os"
)

// Self copies this program to a file, whole or not at all.
func Self(file string) error {
	if err := copySelf(file + ".new"); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// copySelf copies this program to a file that everybody may run, whatever the umask.
func copySelf(to string) error {
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	return errors.Join(err, file.Chmod(0o755), file.Close())
}
