package wire

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"k8s.io/utils/clock"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// Replication is the user that a server's ACL file lets replicate. No replica of ours logs in
// as it: each has a user of its own on its master, named after this one.
const Replication = "_replication"

// replicaRights are the rights of a replica on its master.
var replicaRights = []any{"+ping", "+psync", "+replconf"}

// Backup is the user that reads a dump, as a replica does that wants nothing else. Rights are for whole commands, so one that may ask for
// a dump may also acknowledge what it has not got: REPLCONF takes several options in one command, and only its first is compared with a
// right. On a master that has replicas it may ask for none.
const Backup = backup.RedisUser

// DumpRights are the rights of a user to ask for a dump. PSYNC is for a history that no server has: with the server's own, its FAILOVER
// makes a replica master.
func DumpRights() []string { return []string{"+replconf", "+psync|?"} }

// setDumpRights is the command that gives a backup the rights to ask for a dump, or takes them.
func setDumpRights(given bool) []any {
	words := []any{"ACL", "SETUSER", Backup}
	if !given {
		return append(words, "-replconf", "-psync")
	}
	for _, right := range DumpRights() {
		words = append(words, right)
	}
	return words
}

// Login is the user and password with which a replica logs in to its master.
type Login struct {
	User     string
	Password string
}

// Digest returns the hash by which the master is given the password.
func (l Login) Digest() string {
	sum := sha256.Sum256([]byte(l.Password))
	return hex.EncodeToString(sum[:])
}

// Admit makes the server admit exactly these of the replicas' users, and closes the
// connections of all others: a replica that is not admitted confirms no write any more. Nor
// does a backup, which may ask for a dump only if givesDumps. The passwords are not in the error.
func (s *Server) Admit(ctx context.Context, users []string, admitted []Login, givesDumps bool) error {
	refusals, err := s.client.TxPipelined(ctx, func(tx redis.Pipeliner) error {
		for _, user := range append([]string{Replication}, users...) {
			var rights []any
			for _, login := range admitted {
				if login.User == user {
					rights = append([]any{"on", "#" + login.Digest()}, replicaRights...)
				}
			}
			tx.Do(ctx, append([]any{"ACL", "SETUSER", user, "reset"}, rights...)...)
			if len(rights) == 0 {
				tx.Do(ctx, "CLIENT", "KILL", "USER", user)
			}
		}
		if givesDumps {
			tx.Do(ctx, setDumpRights(true)...)
			return nil
		}
		tx.Do(ctx, setDumpRights(false)...)
		tx.Do(ctx, "CLIENT", "KILL", "TYPE", "replica", "USER", Backup)
		return nil
	})
	for _, refusal := range refusals { // the first says why, the transaction only that
		if refusal.Err() != nil {
			err = refusal.Err()
			break
		}
	}
	if err != nil {
		return fmt.Errorf("choosing who may replicate: %w", withoutSecrets(err))
	}
	return nil
}

// Pin makes a master's replication ID final. A master that never fed a replica takes another
// ID when the first attaches (syncCommand in Redis' replication.c), so Pin attaches as one
// for a moment, by a password that is good for nothing else. A delay before the full copy
// ensures that none is made.
func (s *Server) Pin(ctx context.Context) error {
	once := Login{User: Replication, Password: rand.Text()}
	err := errors.Join(s.pin(ctx, once), s.Configure(ctx, copyDelay, "0"),
		s.do(ctx, "ACL", "SETUSER", Replication, "reset"))
	if err != nil {
		return fmt.Errorf("making the replication ID final, by attaching as a replica for a moment: %w", err)
	}
	return nil
}

// copyDelay is the directive for the seconds by which a full copy is put off, 0 in our file.
const copyDelay = "repl-diskless-sync-delay"

// pinDelay is the copyDelay during a pin, far longer than one takes. The server counts whole seconds, so 1
// may be over at once; and a copy that no replica takes delays the next.
const pinDelay = "5"

func (s *Server) pin(ctx context.Context, once Login) error {
	if err := s.Configure(ctx, copyDelay, pinDelay); err != nil {
		return err
	}
	words := append([]any{"ACL", "SETUSER", once.User, "reset", "on", "#" + once.Digest()}, replicaRights...)
	if err := s.client.Do(ctx, words...).Err(); err != nil {
		return withoutSecrets(err)
	}
	conn, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	replica := connection{conn, bufio.NewReader(conn), replyTimeout}
	for _, command := range []string{"AUTH " + once.User + " " + once.Password, "REPLCONF capa eof capa psync2"} {
		if _, err := replica.ask(command); err != nil {
			return err
		}
	}
	if _, err := conn.Write([]byte("PSYNC ? -1\r\n")); err != nil {
		return err
	}
	return s.awaitPinned(ctx)
}

// awaitPinned waits until the server has a replication backlog, as it has since something attached.
func (s *Server) awaitPinned(ctx context.Context) error {
	tick := clock.RealClock{}.NewTicker(time.Millisecond)
	defer tick.Stop()
	limit := clock.RealClock{}.NewTimer(replyTimeout)
	defer limit.Stop()
	for {
		info, err := s.client.Info(ctx, "replication").Result()
		switch {
		case err != nil:
			return err
		case strings.Contains(info, "repl_backlog_active:1"):
			return nil
		}
		select {
		case <-tick.C():
		case <-limit.C():
			return fmt.Errorf("no replication backlog within %s", replyTimeout)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
