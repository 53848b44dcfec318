package fleet

import (
	"context"
	"time"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/wire"
)

// server is one redis-server, to look at and to command.
type server interface {
	Look(ctx context.Context) wire.View
	Fence(ctx context.Context) error
	Follow(ctx context.Context, address string, as wire.Login) error
	Admit(ctx context.Context, users []string, admitted []wire.Login, givesDumps bool) error
	Pin(ctx context.Context) error
	ServeStale(ctx context.Context) error
	Promote(ctx context.Context, minReplicas int32) error
	SetMinReplicas(ctx context.Context, n int32) error
	Pause(ctx context.Context, d time.Duration) error
	Unpause(ctx context.Context) error
	KillClients(ctx context.Context) error
	KillOtherOperators(ctx context.Context) error
	SetPasswords(ctx context.Context, user string, digests ...string) error
	DefineUser(ctx context.Context, user string, digests []string, rights ...string) error
	KillUser(ctx context.Context, user string) error
	LoadCertificate(ctx context.Context, files wire.TLSFiles) (bool, error)
	Configure(ctx context.Context, directive, value string) error
	SaveSnapshot(ctx context.Context) error
	Redial()
	Close()
}
