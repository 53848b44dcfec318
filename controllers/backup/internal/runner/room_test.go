package runner

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/mainstay-operator/mainstay-operator/controllers/backup/internal/scratch"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// A pod that would be evicted for what it writes ends before, and says what is missing. Nothing of it stays in the store.
func TestDataForWhichThereIsNoRoom(t *testing.T) {
	p := newPod(t)
	task := p.task(20)
	task.Scratch.Limit = int64(len(p.content))*8/7 - 8
	result := p.run(backup.CommandBackup, task)
	if !strings.Contains(result.Error, "the scratch volume may have") || result.Permanent || result.RawSize < int64(len(p.content)) {
		t.Errorf("backup: %+v", result)
	}
	if got := p.days(); got != "" {
		t.Errorf("in the store is %s", got)
	}

	task.Scratch.Limit += 16
	if result := p.succeed(task, backup.CommandBackup); result.RawSize != int64(len(p.content)) {
		t.Errorf("backup: %+v", result)
	}
	task.Scratch.Limit -= 16
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
	want := "the scratch volume may have 98 MiB, and needs at least 124 MiB"
	if result := p.run(backup.CommandVerify, verify); !strings.Contains(result.Error, want) || p.started != nil {
		t.Errorf("verify: %+v", result)
	}
}

// A node whose disk is full is not the backup's fault: another attempt may find room there or elsewhere. It reports the size of the data.
func TestANodeWithoutRoomIsNoPermanentFailure(t *testing.T) {
	for name, kept := range map[string]scratch.Space{
		"little is free":                   {Free: 64<<20 + 1000, Total: 1 << 20},
		"less is free than the node keeps": {Free: 10 << 30, Total: 100 << 30},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			p.succeed(p.task(19), backup.CommandBackup)
			p.disk = kept
			result := p.run(backup.CommandBackup, p.task(20))
			if !strings.Contains(result.Error, "the node's disk has") || result.Permanent || !result.NodeFull || result.RawSize < 1000 {
				t.Errorf("backup: %+v", result)
			}
			for what, fetch := range map[string]backup.Task{
				"a verification": {Kind: backup.Etcd, Folder: folder, Item: p.task(19).Item, Verify: true},
				"a restore":      {Kind: backup.Etcd, Folder: folder, Choose: &backup.Choice{AllowUnverified: true}},
			} {
				if result := p.run(backup.CommandFetch, fetch); !strings.Contains(result.Error, "the node's disk has") || result.Permanent ||
					!result.NodeFull {
					t.Errorf("%s: %+v", what, result)
				}
			}
		})
	}
}

// A disk that cannot be read says nothing about the backup.
func TestADiskThatCannotBeReadIsNoPermanentFailure(t *testing.T) {
	p := newPod(t)
	p.succeed(p.task(20), backup.CommandBackup)
	p.Disk = func(string) (scratch.Space, error) { return scratch.Space{}, errors.New("input/output error") }
	fetch := backup.Task{Kind: backup.Etcd, Folder: folder, Choose: &backup.Choice{AllowUnverified: true}}
	result := p.run(backup.CommandFetch, fetch)
	if !strings.Contains(result.Error, "input/output error") || result.Permanent || result.NodeFull {
		t.Errorf("%+v", result)
	}
}
