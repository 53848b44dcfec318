package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// workDir on the scratch volume is where a server runs that is started to verify a backup.
const workDir = "verify"

// verify starts a server from what was fetched. If it is as the manifest says, it leaves the verdict for finish.
func (e Environment) verify(ctx context.Context, t task) (backup.Result, error) {
	m, err := e.fetched()
	if err != nil {
		return backup.Result{}, err
	}
	if m.Item != t.Item || m.Kind != t.Kind {
		return backup.Result{}, fmt.Errorf("the backup %s was fetched, and %s is to be verified", m.Item, t.Item)
	}
	dir := e.scratchFile(workDir)
	if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)); err != nil {
		return backup.Result{}, fmt.Errorf("clearing the scratch volume: %w", err)
	}
	err = t.server.Verify(ctx, e.scratchFile(backup.DataFile), dir, m)
	err = errors.Join(err, os.RemoveAll(dir))
	if err != nil {
		return backup.Result{}, fmt.Errorf("verifying the backup %s: %w", m.Item, err)
	}
	item := m.StatusItem(true)
	return backup.Result{Item: &item}, writeFile(e.scratchFile(backup.VerdictFile), func(file *os.File) error {
		_, err := file.WriteString(m.Item)
		return err
	})
}

// fetched reads the manifest that fetch has left.
func (e Environment) fetched() (backup.Manifest, error) {
	text, err := readSmall(e.scratchFile(backup.ManifestFile))
	if err != nil {
		return backup.Manifest{}, fmt.Errorf("reading what was fetched: %w", err)
	}
	var m backup.Manifest
	return m, json.Unmarshal(text, &m)
}

// readSmall reads a file that others may have written.
func readSmall(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, backup.MaxManifest))
}
