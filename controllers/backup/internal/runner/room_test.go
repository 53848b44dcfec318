package runner

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// A pod that would be evicted for what it writes ends before, and says what is missing. Nothing of it stays in the store.
func TestDataForWhichThereIsNoRoom(t *testing.T) {
	p := newPod(t)
	task := p.task(20)
	task.Scratch.Limit = 8<<20 + int64(len(p.content)) - 1
	result := p.run(backup.CommandBackup, task)
	if !strings.Contains(result.Error, "the scratch volume may have") || result.Permanent || result.RawSize < int64(len(p.content)) {
		t.Errorf("backup: %+v", result)
	}
	if got := p.days(); got != "" {
		t.Errorf("in the store is %s", got)
	}

	task.Scratch.Limit += 2
	if result := p.succeed(task, backup.CommandBackup); result.RawSize != int64(len(p.content)) {
		t.Errorf("backup: %+v", result)
	}
	task.Scratch.Limit -= 2
	fetch := backup.Task{Kind: backup.Etcd, Folder: folder, Choose: &backup.Choice{AllowUnverified: true}, Scratch: task.Scratch}
	if result := p.run(backup.CommandFetch, fetch); !strings.Contains(result.Error, "the scratch volume may have") || !result.Permanent {
		t.Errorf("a restore: %+v", result)
	}
	if _, err := os.Stat(p.scratchFile(backup.DataFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it was fetched: %v", err)
	}
	fetch.Choose, fetch.Item, fetch.Verify, fetch.Scratch.Limit = nil, task.Item, true, 0
	p.succeed(fetch, backup.CommandFetch)
	verify := task
	verify.Scratch.Limit = 100 << 20 // the data has room, and an etcd that starts from it has none
	want := "the scratch volume may have 92 MiB, and needs at least 192 MiB"
	if result := p.run(backup.CommandVerify, verify); !strings.Contains(result.Error, want) || p.started != nil {
		t.Errorf("verify: %+v", result)
	}
}
