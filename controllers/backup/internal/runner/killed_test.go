package runner

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/backup/internal/store"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// errDead is what all calls meet after the process was killed.
var errDead = errors.New("killed")

// mortal is a store whose user is killed at a call: before it arrives, or after it was carried out and before its answer.
type mortal struct {
	store.Store
	calls, killAt int
	carriedOut    bool
}

func (m *mortal) call(do func() error) error {
	m.calls++
	if m.calls > m.killAt || m.calls == m.killAt && !m.carriedOut {
		return errDead
	}
	err := do()
	if m.calls == m.killAt {
		return errDead
	}
	return err
}

func (m *mortal) Put(ctx context.Context, name string, content io.Reader) error {
	return m.call(func() error { return m.Store.Put(ctx, name, content) })
}

func (m *mortal) Get(ctx context.Context, name string) (content io.ReadCloser, size int64, err error) {
	err = m.call(func() (err error) { content, size, err = m.Store.Get(ctx, name); return err })
	return content, size, err
}

func (m *mortal) Stat(ctx context.Context, name string) (size int64, err error) {
	err = m.call(func() (err error) { size, err = m.Store.Stat(ctx, name); return err })
	return size, err
}

func (m *mortal) List(ctx context.Context, folder string) iter.Seq2[backup.Object, error] {
	if err := m.call(func() error { return nil }); err != nil {
		return func(yield func(backup.Object, error) bool) { yield(backup.Object{}, err) }
	}
	return m.Store.List(ctx, folder)
}

func (m *mortal) Delete(ctx context.Context, name string) error {
	return m.call(func() error { return m.Store.Delete(ctx, name) })
}

func (m *mortal) Abort(ctx context.Context, name string) error {
	return m.call(func() error { return m.Store.Abort(ctx, name) })
}

// atEachCall runs a test killed at each call of the store, until the test says that it was not killed.
func atEachCall(t *testing.T, test func(t *testing.T, at int, carriedOut bool) (killed bool)) {
	for at := 1; ; at++ {
		before, after := test(t, at, false), test(t, at, true)
		if !before && !after {
			if at < 5 {
				t.Errorf("it makes %d calls", at-1)
			}
			return
		}
	}
}

// Killed wherever, a backup is whole or none; and the next attempt removes what is left.
func TestAKilledBackupIsWholeOrNone(t *testing.T) {
	atEachCall(t, func(t *testing.T, at int, carriedOut bool) bool {
		p := newPod(t)
		alive := p.store
		dying := &mortal{Store: alive, killAt: at, carriedOut: carriedOut}
		p.store = dying
		p.run(backup.CommandBackup, p.task(19))
		p.store = alive
		got := p.objects()
		if slices.Contains(got, backup.ManifestName(backup.Etcd, item(19))) {
			p.succeed(p.task(19), backup.CommandFetch)
		}
		next := p.task(20)
		next.Leftovers = []string{item(19)}
		p.succeed(next, all...)
		if got := p.objects(); !slices.Equal(got, verifiedItem(20)) {
			t.Errorf("killed at call %d: %q is left", at, got)
		}
		return dying.calls >= at
	})
}

// A process that is killed while it writes an object leaves a part of it.
func TestPartsOfObjectsAreRemovedByTheNextAttempt(t *testing.T) {
	for name, verified := range map[string]bool{"of an attempt that is verified": true, "of one that is not": false} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			p.succeed(p.task(19), backup.CommandBackup)
			if verified {
				p.succeed(p.task(19), all[1:]...)
			}
			for _, object := range verifiedItem(19) {
				p.leavePart(object)
			}
			next := p.task(20)
			next.Leftovers = []string{item(19)}
			p.succeed(next, all...)
			if parts := p.parts(); len(parts) > 0 {
				t.Errorf("%q are left", parts)
			}
		})
	}
}

// Killed wherever, finish leaves a verified backup to restore; and the next one deletes what retention does not keep.
func TestAKilledFinishLosesNoVerifiedBackup(t *testing.T) {
	atEachCall(t, func(t *testing.T, at int, carriedOut bool) bool {
		p := newPod(t)
		p.succeed(p.task(18), all...)
		p.succeed(p.task(19), all...)
		p.succeed(p.task(20), all[:3]...)
		task := p.task(20)
		task.Retention = &commonv1.BackupRetention{KeepLast: ptr.To[int32](1)}
		alive := p.store
		dying := &mortal{Store: alive, killAt: at, carriedOut: carriedOut}
		p.store = dying
		p.run(backup.CommandFinish, task)
		p.store = alive
		p.succeed(backup.Task{Kind: backup.Etcd, Folder: folder, Choose: &backup.Choice{}}, backup.CommandFetch)
		for _, day := range []int{18, 19, 20} { // what looks like a backup is one
			if slices.Contains(p.objects(), backup.ManifestName(backup.Etcd, item(day))) {
				p.succeed(p.task(day), backup.CommandFetch)
			}
		}
		p.succeed(p.task(20), backup.CommandFetch, backup.CommandVerify)
		p.succeed(task, backup.CommandFinish)
		for _, name := range p.objects() {
			if !strings.HasPrefix(name, item(20)) && strings.HasSuffix(name, ".json") {
				t.Errorf("killed at call %d: %s is left", at, name)
			}
		}
		return dying.calls >= at
	})
}

// picky refuses some calls for good, and continues.
type picky struct {
	store.Store
	refuse func(call, name string) error
}

func (p picky) Put(ctx context.Context, name string, content io.Reader) error {
	if err := p.refuse("put", name); err != nil {
		_, _ = io.CopyN(io.Discard, content, 10)
		return err
	}
	return p.Store.Put(ctx, name, content)
}

func (p picky) Delete(ctx context.Context, name string) error {
	if err := p.refuse("delete", name); err != nil {
		return err
	}
	return p.Store.Delete(ctx, name)
}

func TestABackupThatTheStoreRefusesLeavesNothing(t *testing.T) {
	for _, suffix := range []string{".data", ".json"} {
		p := newPod(t)
		alive := p.store
		p.store = picky{alive, func(call, name string) error {
			if call == "put" && strings.HasSuffix(name, suffix) {
				return backup.Permanent(errors.New("AccessDenied: " + name))
			}
			return nil
		}}
		if result := p.run(backup.CommandBackup, p.task(20)); !strings.Contains(result.Error, "AccessDenied") || !result.Permanent {
			t.Errorf("%s: %+v", suffix, result)
		}
		if got := p.objects(); len(got) != 0 {
			t.Errorf("%s: %q", suffix, got)
		}
	}
}

// A pod that is asked to end while it writes takes back what it has written, though its context has ended.
func TestABackupThatIsAskedToEndLeavesNothing(t *testing.T) {
	p := onS3(t)
	ctx, cancel := context.WithCancel(t.Context())
	alive := p.store
	p.store = picky{alive, func(call, name string) error {
		if call == "put" && strings.HasSuffix(name, ".json") {
			cancel()
			return ctx.Err()
		}
		return nil
	}}
	text, err := json.Marshal(p.task(20))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Environment.run(ctx, []string{backup.CommandBackup, "--task", string(text)}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := p.objects(); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

// A store may refuse to list uploads: what may be deleted is, all the same.
func TestLeftoversAreDeletedThoughUploadsCannotBeListed(t *testing.T) {
	p := newPod(t)
	p.replace(backup.DataName(backup.Etcd, item(19)), []byte("left by a killed attempt"))
	p.store = unlisted{p.store}
	task := p.task(20)
	task.Leftovers = []string{item(19)}
	if result := p.succeed(task, backup.CommandBackup); !strings.Contains(result.Warning, "AccessDenied") {
		t.Errorf("%+v", result)
	}
	p.succeed(task, all[1:]...)
	if got := p.objects(); !slices.Equal(got, verifiedItem(20)) {
		t.Errorf("%q", got)
	}
}

// unlisted refuses to abort uploads, as a store does whose uploads may not be listed.
type unlisted struct{ store.Store }

func (unlisted) Abort(context.Context, string) error { return errors.New("AccessDenied") }

// What cannot be deleted is reported, and does not have the whole backup made again.
func TestWhatCannotBeDeletedIsAWarning(t *testing.T) {
	p := newPod(t)
	p.succeed(p.task(18), all...)
	p.replace(backup.DataName(backup.Etcd, item(19)), []byte("left by a killed attempt"))
	alive := p.store
	p.store = picky{alive, func(call, name string) error {
		if call == "delete" {
			return errors.New("AccessDenied: " + name)
		}
		return nil
	}}
	task := p.task(20)
	task.Leftovers, task.Retention = []string{item(19)}, &commonv1.BackupRetention{KeepLast: ptr.To[int32](1)}
	result := p.succeed(task, backup.CommandBackup)
	if !strings.Contains(result.Warning, "removing what an earlier attempt has left: AccessDenied") {
		t.Errorf("%+v", result)
	}
	result = p.succeed(task, all[1:]...)
	if !strings.Contains(result.Warning, "deleting what retention does not keep: AccessDenied") || !result.Item.Verified {
		t.Errorf("%+v", result)
	}
}
