package runner

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// install copies this program into dir, whole or not at all.
func install(dir string) error {
	program := filepath.Join(dir, filepath.Base(backup.Program))
	if err := copySelf(program + ".new"); err != nil {
		return err
	}
	return os.Rename(program+".new", program)
}

// copySelf copies this program to a file that everybody may run, whatever the umask.
func copySelf(to string) error {
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o755) //nolint:gosec // it is a program
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	return errors.Join(err, file.Chmod(0o755), file.Close())
}
