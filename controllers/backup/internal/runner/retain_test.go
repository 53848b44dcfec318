package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/backup/internal/store"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// days of January whose items have a manifest.
func (p *pod) days() string {
	p.t.Helper()
	var list []string
	for day := 1; day <= 31; day++ {
		if slices.Contains(p.objects(), backup.ManifestName(backup.Etcd, item(day))) {
			list = append(list, fmt.Sprint(day))
		}
	}
	return strings.Join(list, " ")
}

// makeUntil that day of January has a verified backup made of each.
func (p *pod) makeUntil(last int) {
	p.t.Helper()
	for day := 1; day <= last; day++ {
		p.succeed(p.task(day), all...)
	}
}

// retaining is the task of the run of that day, which keeps that many.
func (p *pod) retaining(day int, keep int32) backup.Task {
	task := p.task(day)
	task.Retention = &commonv1.BackupRetention{KeepLast: ptr.To(keep)}
	return task
}

// Anyone who may put objects into the store can push out no backup by names alone.
func TestForgedItemsPushOutNothing(t *testing.T) {
	for name, forge := range map[string]func(p *pod, item string) (data, manifest []byte){
		"empty objects":            func(*pod, string) ([]byte, []byte) { return nil, nil },
		"a manifest of no data":    func(p *pod, item string) ([]byte, []byte) { return nil, p.manifestOf(13, item, "uid") },
		"of another source":        func(p *pod, item string) ([]byte, []byte) { return noise(100_033), p.manifestOf(13, item, "other") },
		"a copy of another item's": func(p *pod, _ string) ([]byte, []byte) { return noise(100_033), p.manifestOf(13, item(13), "uid") },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			p.makeUntil(14)
			for i := range 13 {
				forged := fmt.Sprintf("20260116T0000%02dZ-00000000", i)
				data, manifest := forge(p, forged)
				p.replace(backup.DataName(backup.Etcd, forged), data)
				p.replace(backup.ManifestName(backup.Etcd, forged), manifest)
				p.replace(backup.VerifiedName(backup.Etcd, forged), nil)
			}
			result := p.succeed(p.retaining(20, 14), all...)
			if got := p.days(); got != "2 3 4 5 6 7 8 9 10 11 12 13 14 20" || result.Held != "" {
				t.Errorf("%s are left, %+v", got, result)
			}
		})
	}
}

// manifestOf an item as that of another day, but for its name and its source.
func (p *pod) manifestOf(day int, name, source string) []byte {
	p.t.Helper()
	var m backup.Manifest
	err := json.Unmarshal(p.get(backup.ManifestName(backup.Etcd, item(day))), &m)
	m.Item, m.SourceUID = name, source
	text, err2 := json.Marshal(m)
	if err := errors.Join(err, err2); err != nil {
		p.t.Fatal(err)
	}
	return text
}

// A run a month ahead takes all to be old. If the store says so, too, it deletes no more than any other.
func TestClocksThatAreAheadDeleteLittle(t *testing.T) {
	for name, c := range map[string]struct {
		node, store time.Duration // ahead of the operator's clock
		want        string
		held        string
	}{
		"all of them, the store's as well": {0, 0, "3 4 5 6 7 8 9 10 11 12 13 14", ""},
		"all but the store's":              {0, -30 * 24 * time.Hour, "1 2 3 4 5 6 7 8 9 10 11 12 13 14", "the store's clock"},
		"the operator's alone": {-30 * 24 * time.Hour, -30 * 24 * time.Hour, "1 2 3 4 5 6 7 8 9 10 11 12 13 14",
			"the operator's clock"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			p.makeUntil(14)
			task := p.task(15)
			task.Time = task.Time.AddDate(0, 1, 0)
			task.Item = backup.ItemName(task.Time, "uid", task.Time, 1)
			task.Retention = &commonv1.BackupRetention{KeepFor: keepFor(14 * 24)}
			p.nodeAhead, p.storeAhead = c.node, c.store
			result := p.succeed(task, all...)
			if got := p.days(); got != c.want || !strings.Contains(result.Held, c.held) || (result.Held != "") != (c.held != "") {
				t.Errorf("%s are left, %+v", got, result)
			}
		})
	}
}

// An object that is made again for another source, or a second cluster with the same prefix, deletes its own backups alone.
func TestARunDeletesBackupsOfItsOwnSource(t *testing.T) {
	p := newPod(t)
	p.makeUntil(5)
	for day := 6; day < 11; day++ {
		task := p.retaining(day, 1)
		if day%2 == 0 {
			task.Source.UID = "other"
		}
		p.succeed(task, all...)
	}
	if got := p.days(); got != "5 7 9 10" {
		t.Errorf("%s are left", got)
	}
}

// After data was lost nothing is deleted, until a human says so. What is lost is kept even then.
func TestRetentionIsHeldAfterALoss(t *testing.T) {
	p := newPod(t)
	p.makeUntil(5)
	p.content = noise(9_000)
	var result backup.Result
	for day := 6; day < 9; day++ {
		result = p.succeed(p.retaining(day, 1), all...)
	}
	want := "mainstay-operator.io/allow-retention=" + item(6)
	if got := p.days(); got != "1 2 3 4 5 6 7 8" || !strings.HasSuffix(result.Held, want) {
		t.Errorf("%s are left, %+v", got, result)
	}
	task := p.retaining(9, 1)
	task.Allowed = item(6)
	if result = p.succeed(task, all...); p.days() != "3 4 5 6 7 8 9" || result.Held != "" {
		t.Errorf("%s are left, %+v", p.days(), result)
	}
}

func TestTheLastBackupOfALostDatasetStays(t *testing.T) {
	p := newPod(t)
	p.makeUntil(3)
	for day := 4; day < 9; day++ {
		task := p.retaining(day, 1)
		task.Source.Dataset, task.Allowed = "7", item(4)
		p.succeed(task, all...)
	}
	if got := p.days(); got != "3 8" {
		t.Errorf("%s are left", got)
	}
}

// What the store does not let be read now neither counts nor is deleted.
func TestManifestsThatCannotBeReadNow(t *testing.T) {
	p := newPod(t)
	p.makeUntil(5)
	p.store = unreadable{p.store, item(4)}
	result := p.succeed(p.retaining(6, 1), all...)
	if got := p.days(); got != "1 2 3 4 5 6" && got != "1 2 3 4 6" || !strings.Contains(result.Warning, "reading the manifest of "+item(4)) {
		t.Errorf("%s are left, %+v", got, result)
	}
}

// unreadable cannot read the manifest of one item now.
type unreadable struct {
	store.Store
	item string
}

func (u unreadable) Get(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	if strings.HasSuffix(name, backup.ManifestName(backup.Etcd, u.item)) {
		return nil, 0, errors.New("SlowDown")
	}
	return u.Store.Get(ctx, name)
}

// Of a folder with very many backups the newest and the oldest are read.
func TestManifestsAreReadUpToABound(t *testing.T) {
	p := newPod(t)
	p.makeUntil(1)
	data := p.get(backup.DataName(backup.Etcd, item(1)))
	count := newestRead + 2*oldestRead
	for i := range count {
		name := backup.ItemName(today.AddDate(-1, 0, 0).Add(time.Duration(i)*time.Minute), "uid", today, 1)
		p.replace(backup.DataName(backup.Etcd, name), data)
		p.replace(backup.ManifestName(backup.Etcd, name), p.manifestOf(1, name, "uid"))
		p.replace(backup.VerifiedName(backup.Etcd, name), nil)
	}
	counting := &countingStore{Store: p.store}
	p.store = counting
	before := len(p.objects())
	p.succeed(p.retaining(20, int32(count)), all...) //nolint:gosec // a thousand
	if gone := before + 3 - len(p.objects()); gone != 3*backup.MaxDeleted || counting.manifests > newestRead+oldestRead+2 {
		t.Errorf("%d objects are gone, and %d manifests were read", gone, counting.manifests)
	}
}

// countingStore counts the manifests that are read.
type countingStore struct {
	store.Store
	manifests int
}

func (c *countingStore) Get(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	if strings.HasSuffix(name, ".json") {
		c.manifests++
	}
	return c.Store.Get(ctx, name)
}
