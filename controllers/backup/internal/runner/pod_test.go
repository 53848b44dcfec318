package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/backup/internal/scratch"
	"github.com/mainstay-operator/mainstay-operator/controllers/backup/internal/store"
	"github.com/mainstay-operator/mainstay-operator/controllers/backup/source"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/test/s3"
)

// started is the S3 server that all tests share.
var started = sync.OnceValues(func() (*s3.Server, error) { return s3.Start("../../../../.bin/versitygw") })

func TestMain(m *testing.M) {
	if config := os.Getenv(childEnv); config != "" {
		os.Exit(child(config))
	}
	code := m.Run()
	if server, err := started(); err == nil {
		server.Stop()
	}
	os.Exit(code)
}

const folder = "n/b"

var today = time.Date(2026, 1, 20, 12, 0, 0, 0, time.UTC)

// pod is a runner's, whose source and store are the test's.
type pod struct {
	t *testing.T
	Environment
	store store.Store
	spec  commonv1.BackupStore
	// content is what the source gives, and what a server was started from.
	content, started []byte
	// disk is what the node's disk has.
	disk scratch.Space
	// dumpError, checkError and verifyError are how the servers and what reads their data fail.
	dumpError, checkError, verifyError error
	// requiresLogin is what the data says.
	requiresLogin bool
	// volume of a store that is one.
	volume string
	// nodeAhead and storeAhead say how far these clocks are ahead of the operator's, which is that of the task.
	nodeAhead, storeAhead time.Duration
}

func newPod(t *testing.T) *pod {
	t.Helper()
	dir := t.TempDir()
	spec := commonv1.BackupStore{Volume: &commonv1.VolumeStore{ClaimName: "any"}}
	return newPodOn(t, spec, store.Places{Volume: dir})
}

func newPodOn(t *testing.T, spec commonv1.BackupStore, places store.Places) *pod {
	t.Helper()
	opened, err := store.Open(spec, places)
	if err != nil {
		t.Fatal(err)
	}
	p := &pod{t: t, spec: spec, content: noise(100_000), volume: places.Volume, disk: scratch.Space{Free: 1 << 40}}
	p.store = &datedStore{opened, p, map[string]time.Time{}}
	p.Environment = Environment{
		Open: func(commonv1.BackupStore) (store.Store, error) { return p.store, nil },
		Servers: map[backup.ServerType]Server{backup.Etcd: {Dump: p.dump, Check: p.inspect,
			RequiresLogin: func(string) (bool, error) { return p.requiresLogin, nil }, Verify: p.check}},
		Clock:   clocktesting.NewFakePassiveClock(today.Add(time.Minute)),
		Scratch: t.TempDir(), TerminationLog: filepath.Join(t.TempDir(), "termination-log"),
		Disk: func(string) (scratch.Space, error) { return p.disk, nil },
	}
	return p
}

func (p *pod) dump(_ context.Context, _ backup.Source, _ string, w source.File) (source.Meta, error) {
	if p.dumpError != nil {
		_, _ = w.Write(p.content[:len(p.content)/2])
		return source.Meta{}, p.dumpError
	}
	_, err := w.Write(p.content)
	return source.Meta{Revision: 42, ClusterID: "abc", ServerVersion: "3.6.16"}, err
}

func (p *pod) inspect(string, backup.Manifest) error { return p.checkError }

func (p *pod) check(_ context.Context, file, workDir string, _ backup.Manifest) error {
	if p.verifyError != nil {
		return p.verifyError
	}
	content, err := os.ReadFile(file)
	p.started = content
	return errors.Join(err, os.WriteFile(filepath.Join(workDir, "x"), nil, 0o600))
}

// item of that day of January.
func item(day int) string {
	return backup.ItemName(time.Date(2026, 1, day, 12, 0, 0, 0, time.UTC), "uid", today, 1)
}

// task of the run that writes the item of that day.
func (p *pod) task(day int) backup.Task {
	return backup.Task{Kind: backup.Etcd, Store: p.spec, Folder: folder, Item: item(day),
		Time:   time.Date(2026, 1, day, 12, 0, 0, 0, time.UTC),
		Verify: true, Compression: commonv1.CompressGzip, Source: &backup.Source{UID: "uid", Endpoints: []string{"e:2379"}}}
}

// run has a runner carry out a command as in a container, and returns what it leaves.
func (p *pod) run(command string, task backup.Task) backup.Result {
	p.t.Helper()
	text, err := json.Marshal(task)
	if err != nil {
		p.t.Fatal(err)
	}
	if !task.Time.IsZero() {
		p.Clock = fixed(task.Time.Add(time.Minute + p.nodeAhead))
	}
	code := Main([]string{command, "--task", string(text)}, p.Environment)
	left, err := os.ReadFile(p.TerminationLog)
	var result backup.Result
	if err := errors.Join(err, json.Unmarshal(left, &result)); err != nil {
		p.t.Fatal(err)
	}
	if (code != 0) != (result.Error != "") || len(left) > backup.MaxResult {
		p.t.Errorf("%s: exit code %d with %s", command, code, left)
	}
	return result
}

// succeed runs commands, each of which must.
func (p *pod) succeed(task backup.Task, commands ...string) (last backup.Result) {
	p.t.Helper()
	for _, command := range commands {
		if last = p.run(command, task); last.Error != "" {
			p.t.Fatalf("%s: %+v", command, last)
		}
	}
	return last
}

var all = []string{backup.CommandBackup, backup.CommandFetch, backup.CommandVerify, backup.CommandFinish}

// objects in the store, without the folder's name.
func (p *pod) objects() []string {
	p.t.Helper()
	var names []string
	for object, err := range p.store.List(p.t.Context(), folder) {
		if err != nil {
			p.t.Fatal(err)
		}
		names = append(names, object.Name)
	}
	slices.Sort(names)
	return names
}

// datedStore is a store with the clock of the pod's test.
type datedStore struct {
	store.Store
	pod     *pod
	written map[string]time.Time
}

func (d *datedStore) Put(ctx context.Context, name string, content io.Reader) error {
	d.written[name] = d.pod.Clock.Now().Add(d.pod.storeAhead - d.pod.nodeAhead)
	return d.Store.Put(ctx, name, content)
}

func (d *datedStore) List(ctx context.Context, folder string) iter.Seq2[backup.Object, error] {
	return func(yield func(backup.Object, error) bool) {
		for object, err := range d.Store.List(ctx, folder) {
			object.Modified = d.written[folder+"/"+object.Name]
			if !yield(object, err) {
				return
			}
		}
	}
}

// leavePart of an object on the volume, as a process does that is killed while it writes.
func (p *pod) leavePart(object string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.volume, folder, "."+object+".partial"), []byte("part"), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// parts of objects on the volume.
func (p *pod) parts() []string {
	p.t.Helper()
	parts, err := filepath.Glob(filepath.Join(p.volume, folder, ".*"))
	if err != nil {
		p.t.Fatal(err)
	}
	return parts
}

// verifiedItem are the objects of one that is whole.
func verifiedItem(days ...int) (names []string) {
	for _, day := range days {
		names = append(names, backup.DataName(backup.Etcd, item(day)), backup.ManifestName(backup.Etcd, item(day)),
			backup.VerifiedName(backup.Etcd, item(day)))
	}
	slices.Sort(names)
	return names
}

func (p *pod) get(name string) []byte {
	p.t.Helper()
	content, _, err := p.store.Get(p.t.Context(), folder+"/"+name)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = content.Close() }()
	text, err := io.ReadAll(content)
	if err != nil {
		p.t.Fatal(err)
	}
	return text
}

// replace puts another content in an object's place, as only a stranger would.
func (p *pod) replace(name string, content []byte) {
	p.t.Helper()
	err := p.store.Delete(p.t.Context(), folder+"/"+name)
	if err = errors.Join(err, p.store.Put(p.t.Context(), folder+"/"+name, bytes.NewReader(content))); err != nil {
		p.t.Fatal(err)
	}
}

// noise is content that cannot be compressed.
func noise(size int) []byte {
	content := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(content)
	return content
}
