package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/mainstay-operator/mainstay-operator/controllers/backup/internal/scratch"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// workDir on the scratch volume is where a server runs that is started to verify a backup.
const workDir = "verify"

// verify starts a server from what was fetched. Its verdict is its exit code, by which the kubelet starts finish or does not, and
// its result, which the operator reads.
func (e Environment) verify(ctx context.Context, t task) (backup.Result, error) {
	m, err := e.fetched()
	if err != nil {
		return backup.Result{}, err
	}
	data := e.scratchFile(backup.DataFile)
	if err := refuseReplaced(ctx, data, m); err != nil {
		return backup.Result{}, err
	}
	if m.Item != t.Item || m.Kind != t.Kind {
		return backup.Result{}, fmt.Errorf("the backup %s was fetched, and %s is to be verified", m.Item, t.Item)
	}
	dir := e.scratchFile(workDir)
	if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)); err != nil {
		return backup.Result{}, fmt.Errorf("clearing the scratch volume: %w", err)
	}
	if err := e.room(t).Check(m.RawSize, backup.VerifyRoom(t.Kind, m.RawSize)); err != nil {
		return backup.Result{}, fmt.Errorf("verifying the backup %s: %w", m.Item, err)
	}
	err = t.server.Verify(ctx, data, dir, m)
	err = errors.Join(err, os.RemoveAll(dir))
	if err != nil {
		return backup.Result{}, fmt.Errorf("verifying the backup %s: %w", m.Item, err)
	}
	item := m.StatusItem(true)
	return backup.Result{Item: &item}, nil
}

// refuseReplaced returns an error if another container has put something else in the place of the fetched data.
func refuseReplaced(ctx context.Context, data string, m backup.Manifest) error {
	file, err := scratch.Open(data, m.RawSize)
	if err != nil {
		return fmt.Errorf("reading what was fetched: %w", err)
	}
	defer func() { _ = file.Close() }()
	found := newSum()
	if _, err := io.Copy(found, untilDone{ctx, file}); err != nil {
		return fmt.Errorf("reading what was fetched: %w", err)
	}
	if sum := found.hex(); sum != m.RawSHA256 {
		return fmt.Errorf("%w: the fetched data has the SHA-256 %s, and its manifest says %s", scratch.ErrRefused, sum, m.RawSHA256)
	}
	return nil
}

// fetched reads the manifest that fetch has left.
func (e Environment) fetched() (backup.Manifest, error) {
	text, err := scratch.Read(e.scratchFile(backup.ManifestFile), backup.MaxManifest)
	if err != nil {
		return backup.Manifest{}, fmt.Errorf("reading what was fetched: %w", err)
	}
	var m backup.Manifest
	err = json.Unmarshal(text, &m)
	if _, named := backup.ItemTime(m.Item); err != nil || named != nil { // these errors would repeat what is there
		return backup.Manifest{}, fmt.Errorf("reading what was fetched: %s is not a manifest", backup.ManifestFile)
	}
	return m, nil
}
