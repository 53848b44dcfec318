// Command verifier stands first on the path of an image of Redis, under the name of redis-server. It is that server; but where the
// image verifies a backup, it first puts named pipes and links in the place of the files on the volume that the backup's containers
// share.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// server is the image's own.
const server = "/usr/bin/redis-server"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "hostile:", err)
		os.Exit(1)
	}
}

func run() error {
	// The server that verifies a backup listens at no port, and reads the dump from the shared volume.
	if i := slices.Index(os.Args, "--dir"); slices.Contains(os.Args, "--unixsocket") && i > 0 && i+1 < len(os.Args) {
		if err := replaceFiles(os.Args[i+1]); err != nil {
			return err
		}
	}
	return syscall.Exec(server, os.Args, os.Environ())
}

// replaceFiles of the volume but for the dump, which the server is to load: the backup gets to its last container.
func replaceFiles(volume string) error {
	for _, name := range []string{"verified", "dump"} {
		if err := errors.Join(os.RemoveAll(filepath.Join(volume, name)), syscall.Mkfifo(filepath.Join(volume, name), 0o666)); err != nil {
			return err
		}
	}
	manifest := filepath.Join(volume, "manifest.json")
	return errors.Join(os.RemoveAll(manifest), os.Symlink("/store/secretAccessKey", manifest))
}
