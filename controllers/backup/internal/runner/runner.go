// Package runner carries out the commands of a backup's pod. Each streams: its memory does not grow with the data.
package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/utils/clock"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/backup/internal/scratch"
	"github.com/mainstay-operator/mainstay-operator/controllers/backup/internal/store"
	"github.com/mainstay-operator/mainstay-operator/controllers/backup/serve"
	"github.com/mainstay-operator/mainstay-operator/controllers/backup/source"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/install"
)

// Server is what a runner does with one kind of server.
type Server struct {
	// Dump writes the server's data to an empty file, and says what it is.
	Dump func(ctx context.Context, from backup.Source, credentials string, file source.File) (source.Meta, error)
	// Check reads a file, and compares what it holds with the manifest.
	Check func(file string, m backup.Manifest) error
	// RequiresLogin reports whether a server that starts from a file serves only who has logged in; nil where the file does not say.
	RequiresLogin func(file string) (bool, error)
	// Verify starts a server from a file, and compares.
	Verify func(ctx context.Context, file, workDir string, m backup.Manifest) error
}

// Environment is what a runner finds around it.
type Environment struct {
	Open    func(commonv1.BackupStore) (store.Store, error)
	Servers map[backup.ServerType]Server
	Clock   clock.PassiveClock
	// Scratch is the folder that the containers of a pod share; Credentials has the files of the source's Secrets.
	Scratch, Credentials string
	// TerminationLog is the file that gets the termination message.
	TerminationLog string
	// Disk reads how much space the disk of Scratch has; nil means as the kernel says.
	Disk func(dir string) (scratch.Space, error)
}

// InPod is what the operator has put around a runner in its pod.
func InPod() Environment {
	return Environment{
		Open: func(spec commonv1.BackupStore) (store.Store, error) { return store.Open(spec, store.InPod) },
		Servers: map[backup.ServerType]Server{
			backup.Etcd:  {Dump: source.Etcd, Check: source.CheckEtcd, RequiresLogin: source.EtcdRequiresLogin, Verify: source.VerifyEtcd},
			backup.Redis: {Dump: dumpRedis, Check: source.CheckRedis, Verify: source.VerifyRedis},
		},
		Clock:   clock.RealClock{},
		Scratch: backup.ScratchDir, Credentials: backup.SourceDir,
		TerminationLog: "/dev/termination-log",
	}
}

func dumpRedis(ctx context.Context, from backup.Source, credentials string, file source.File) (source.Meta, error) {
	return source.Redis(ctx, from, credentials, file)
}

const (
	usage = "usage: backup-runner install DIR | backup-runner backup|fetch|serve|verify|finish --task JSON"
	// MemoryLimit has the garbage collector work harder before a container's limit is reached, in bytes.
	MemoryLimit = 40 << 20
	// cleanupTimeout bounds what is done after a pod was asked to stop: it has 30 s.
	cleanupTimeout = 20 * time.Second
)

// Main does what its arguments say until it is asked to stop. It leaves a backup.Result as the termination message, and returns the
// exit code.
func Main(args []string, e Environment) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	result, err := e.run(ctx, args)
	if ctx.Err() != nil && err != nil {
		err = fmt.Errorf("the pod was asked to stop: %w", err)
	}
	if err != nil {
		result.Error, result.Permanent = err.Error(), backup.IsPermanent(err) && ctx.Err() == nil
		_, result.NodeFull = errors.AsType[*scratch.NodeFullError](err)
		_, _ = io.WriteString(os.Stderr, "backup-runner: "+sanitize(result.Error)+"\n")
	}
	if err := leave(result, e.TerminationLog); err != nil {
		_, _ = io.WriteString(os.Stderr, "backup-runner: writing the termination message: "+err.Error()+"\n")
	}
	if result.Error != "" {
		return 1
	}
	return 0
}

// command is what the runner does with a task.
type command struct {
	run        func(context.Context, task) (backup.Result, error)
	needsStore bool
}

func (e Environment) commands() map[string]command {
	return map[string]command{
		backup.CommandBackup: {run: e.backup, needsStore: true},
		backup.CommandFetch:  {run: e.fetch, needsStore: true},
		backup.CommandVerify: {run: e.verify},
		backup.CommandFinish: {run: e.finish, needsStore: true},
		backup.CommandServe: {run: func(ctx context.Context, _ task) (backup.Result, error) {
			return backup.Result{}, serve.Run(ctx, serve.InPod)
		}},
	}
}

// run carries out one command.
func (e Environment) run(ctx context.Context, args []string) (backup.Result, error) {
	if len(args) == 2 && args[0] == backup.CommandInstall {
		return backup.Result{}, install.Self(filepath.Join(args[1], filepath.Base(backup.Program)))
	}
	if len(args) != 3 || args[1] != "--task" {
		return backup.Result{}, backup.Permanent(errors.New(usage))
	}
	known, ok := e.commands()[args[0]]
	if !ok {
		return backup.Result{}, backup.Permanent(errors.New(usage))
	}
	t, err := e.readTask(args[2])
	if err != nil {
		return backup.Result{}, err
	}
	if known.needsStore {
		if t.store, err = e.Open(t.Store); err != nil {
			return backup.Result{}, err
		}
	}
	return known.run(ctx, t)
}

// readTask reads the value of --task. Its store is not open yet.
func (e Environment) readTask(text string) (task, error) {
	var t task
	if err := json.Unmarshal([]byte(text), &t.Task); err != nil {
		return task{}, backup.Permanent(fmt.Errorf("--task is not a valid task: %w", err))
	}
	t.Compression = cmp.Or(t.Compression, commonv1.CompressGzip)
	known, ok := e.Servers[t.Kind]
	if !ok {
		return task{}, backup.Permanent(fmt.Errorf("the task is of kind %q, which is neither etcd nor redis", t.Kind))
	}
	t.server = known
	return t, nil
}

// task is what a command works on.
type task struct {
	backup.Task
	server Server
	store  store.Store
}

// The names of an item's objects in the store.
func (t task) data(item string) string     { return t.Folder + "/" + backup.DataName(t.Kind, item) }
func (t task) manifest(item string) string { return t.Folder + "/" + backup.ManifestName(t.Kind, item) }
func (t task) verified(item string) string { return t.Folder + "/" + backup.VerifiedName(t.Kind, item) }

// objects are all three, first what makes it one.
func (t task) objects(item string) []string {
	return []string{t.manifest(item), t.verified(item), t.data(item)}
}

// room is what a task may have on the scratch volume.
func (e Environment) room(t task) scratch.Room {
	return scratch.Room{Scratch: t.Scratch, Dir: e.Scratch, Disk: e.Disk}
}

// scratchFile is one of those that the containers of a pod share, by the path that it has in a pod.
func (e Environment) scratchFile(inPod string) string {
	return filepath.Join(e.Scratch, filepath.Base(inPod))
}
