package source

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"k8s.io/utils/clock"

	"github.com/mainstay-operator/mainstay-operator/controllers/backup/internal/scratch"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/etcdtoken"
)

const (
	// The sockets of a scratch server in its directory. etcd names them host:port.
	etcdClientSocket, etcdPeerSocket = "client:0", "peer:0"
	// restoredDir is where its data is, in that directory.
	restoredDir = "restored"
	// tokenKeyFile is the key of its tokens, in that directory.
	tokenKeyFile = "token.key"
	// scratchPeer is where the scratch server says that its peers would find it. No peer asks: it is alone.
	scratchPeer = "http://127.0.0.1:2380"
)

// VerifyEtcd restores a snapshot by the etcdutl that is on the path, starts the etcd that is there from it, and has it read all
// keys at the manifest's revision. It works in workDir, an empty directory, and leaves the restored data there; the snapshot stays
// as it is.
func VerifyEtcd(ctx context.Context, dataFile, workDir string, m backup.Manifest) error {
	runtime.LockOSThread() // for startServer
	defer runtime.UnlockOSThread()
	ctx, done := context.WithTimeout(ctx, startLimit)
	defer done()
	if err := restore(ctx, dataFile, workDir); err != nil {
		return fmt.Errorf("restoring the snapshot: %w", err)
	}
	// Only now: etcdutl has found the snapshot whole.
	if err := checkRevision(dataFile, m); err != nil {
		return err
	}
	return serveRestored(ctx, workDir, m)
}

// CheckEtcd reads a snapshot: it is whole, has keys of etcd, and is of the manifest's revision.
func CheckEtcd(dataFile string, m backup.Manifest) error {
	file, err := scratch.Open(dataFile, math.MaxInt64)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if err := copyChecked(io.Discard, file); err != nil {
		return fmt.Errorf("reading the snapshot: %w", err)
	}
	return checkRevision(dataFile, m)
}

func checkRevision(dataFile string, m backup.Manifest) error {
	revision, err := revisionIn(dataFile)
	if err != nil {
		return fmt.Errorf("reading the snapshot: %w", err)
	}
	if revision != m.Revision {
		return fmt.Errorf("the snapshot is of revision %d, but its manifest says %d", revision, m.Revision)
	}
	return nil
}

// restore makes of the snapshot the data of a cluster of one.
func restore(ctx context.Context, dataFile, workDir string) error {
	program, err := findProgram("etcdutl")
	if err != nil {
		return err
	}
	from, err := filepath.Abs(dataFile)
	if err != nil {
		return err
	}
	run, err := startServer(workDir, program, "snapshot", "restore", from, "--data-dir="+restoredDir, "--skip-hash-check=false",
		"--name=scratch", "--initial-cluster=scratch="+scratchPeer, "--initial-advertise-peer-urls="+scratchPeer)
	if err != nil {
		return err
	}
	return run.wait(ctx)
}

// serveRestored starts etcd from the restored data, and has it read all keys at the manifest's revision. Data that asks for a login has it,
// too; no password is known here.
func serveRestored(ctx context.Context, workDir string, m backup.Manifest) error {
	program, err := findProgram("etcd")
	if err != nil {
		return err
	}
	// Whose data asks for logins lets in who has its key of tokens, which is not in the data.
	key := []byte(rand.Text())
	if err := os.WriteFile(filepath.Join(workDir, tokenKeyFile), key, 0o600); err != nil {
		return err
	}
	server, err := startServer(workDir, program, etcdArguments()...)
	if err != nil {
		return err
	}
	defer server.end()
	client, err := newEtcdClient(ctx, "unix://"+filepath.Join(workDir, etcdClientSocket), login{},
		grpc.WithPerRPCCredentials(etcdtoken.New(key, clock.RealClock{}.Now)))
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	if err := server.await(ctx, func(ctx context.Context) (bool, error) { return leads(ctx, client) }); err != nil {
		return err
	}
	if err := server.checkKeys(ctx, client, m.Revision); err != nil {
		return err
	}
	return checkComparison(ctx, client, m.Compared)
}

// etcdArguments have a server serve the restored data, and be reached by a socket alone.
func etcdArguments() []string {
	return []string{"--name=scratch", "--data-dir=" + restoredDir, "--log-level=warn",
		"--listen-client-urls=unix://" + etcdClientSocket, "--advertise-client-urls=unix://" + etcdClientSocket,
		"--listen-peer-urls=unix://" + etcdPeerSocket, "--initial-advertise-peer-urls=" + scratchPeer, "--initial-cluster=scratch=" + scratchPeer,
		"--quota-backend-bytes=-1", // none
		etcdtoken.Argument(tokenKeyFile, "5m")}
}

// leads reports whether the server leads its cluster of one, and so serves.
// One that refuses the login never will.
func leads(ctx context.Context, client *clientv3.Client) (bool, error) {
	ctx, done := context.WithTimeout(ctx, replyTimeout)
	defer done()
	status, err := client.Status(ctx, client.Endpoints()[0])
	for _, refused := range []error{rpctypes.ErrUserEmpty, rpctypes.ErrInvalidAuthToken, rpctypes.ErrPermissionDenied} {
		if errors.Is(rpctypes.Error(err), refused) {
			return false, fmt.Errorf("the scratch server refuses its own login: %w", err)
		}
	}
	return err == nil && status.Leader != 0, nil
}

// checkKeys has the server hash all keys and values at the revision, which takes reading them. It may have later revisions by
// now: leases end.
func (s *scratchServer) checkKeys(ctx context.Context, client *clientv3.Client, revision int64) error {
	hashed, err := client.HashKV(ctx, client.Endpoints()[0], revision)
	switch {
	case err != nil:
		return fmt.Errorf("the server cannot read the keys at revision %d: %w: %s", revision, serverError(err), s.printed)
	case hashed.Header == nil || hashed.Header.Revision < revision:
		return fmt.Errorf("the server has restored less than revision %d", revision)
	}
	return nil
}

// checkComparison returns an error if the server has other data than the members that were compared before one of them was read. After a
// compaction in between, they cannot be compared.
func checkComparison(ctx context.Context, client *clientv3.Client, members *backup.Comparison) error {
	if members == nil || members.With == "" {
		return nil
	}
	restored, err := hashKeyValues(ctx, client, members.Revision)
	switch {
	case errors.Is(rpctypes.Error(err), rpctypes.ErrCompacted):
		return nil
	case err != nil:
		return fmt.Errorf("hashing the keys at revision %d: %w", members.Revision, serverError(err))
	case restored.compacted == members.CompactRevision && restored.hash != members.Hash:
		return fmt.Errorf("the snapshot has other data at revision %d than the members of the etcd had: look for errors of the disks of "+
			"the member that was read and of the backup's node", members.Revision)
	}
	return nil
}
