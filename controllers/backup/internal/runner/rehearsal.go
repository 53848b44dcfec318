package runner

import (
	"context"
	"os"

	"k8s.io/utils/clock"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup/source"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup/store"
)

// Rehearsal is what a runner finds around it without a pod, for tests that play a whole cluster: that store, and servers that give
// that content and start from any. The containers of one pod have one scratch folder.
func Rehearsal(opened store.Store, now clock.PassiveClock, scratch, content string) Environment {
	return Environment{
		open: func(commonv1.BackupStore) (store.Store, error) { return opened, nil },
		servers: map[backup.ServerKind]server{backup.Etcd: {
			dump: func(_ context.Context, _ backup.Source, _ string, file *os.File) (source.Meta, error) {
				_, err := file.WriteString(content)
				return source.Meta{Revision: 1, ServerVersion: "3.6.16"}, err
			},
			verify: func(context.Context, string, string, backup.Manifest) error { return nil },
		}},
		clock: now, scratch: scratch,
	}
}

// Rehearse carries out what the arguments say as Main does, but for signals and files: it returns the termination message and the exit
// code.
func (e Environment) Rehearse(ctx context.Context, args []string) (message string, code int) {
	result, err := e.run(ctx, args)
	if err != nil {
		result.Error, result.Permanent, code = err.Error(), backup.IsPermanent(err), 1
	}
	text, err := fit(result)
	if err != nil {
		return err.Error(), 1
	}
	return string(text), code
}
