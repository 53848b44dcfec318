package source

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"

	"github.com/mainstay-operator/mainstay-operator/controllers/backup/internal/rdb"
	"github.com/mainstay-operator/mainstay-operator/controllers/backup/internal/scratch"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// redisPrograms are the servers of the images, of which one has one.
var redisPrograms = []string{"redis-server", "valkey-server"}

// uncountedDatabases is how many databases a server gets for a dump that does not say how many it needs.
const uncountedDatabases = 1024

// VerifyRedis starts the server that is on the path from a dump, and compares what it has loaded with the manifest. It works in
// workDir, an empty directory; the dump stays as it is.
func VerifyRedis(ctx context.Context, dataFile, workDir string, m backup.Manifest) error {
	runtime.LockOSThread() // for startServer
	defer runtime.UnlockOSThread()
	ctx, done := context.WithTimeout(ctx, startLimit)
	defer done()
	program, err := findProgram(redisPrograms...)
	if err != nil {
		return err
	}
	is, err := readDump(dataFile, m)
	if err != nil {
		return err
	}
	socket := filepath.Join(workDir, "socket")
	server, err := startServer(workDir, program, redisArguments(dataFile, socket, is)...)
	if err != nil {
		return err
	}
	defer server.end()
	return server.checkLoaded(ctx, socket, is.Keys)
}

// findProgram returns the first of the programs that is on the path.
func findProgram(names ...string) (string, error) {
	for _, name := range names {
		if at, err := exec.LookPath(name); err == nil {
			return at, nil
		}
	}
	return "", backup.Permanent(fmt.Errorf("the image has none of the programs %q on its path", names))
}

// CheckRedis reads a dump: it is whole, and has as many keys as the manifest says.
func CheckRedis(dataFile string, m backup.Manifest) error {
	_, err := readDump(dataFile, m)
	return err
}

// readDump reads a dump that is as its manifest says.
func readDump(path string, m backup.Manifest) (rdb.Dump, error) {
	file, err := scratch.Open(path, math.MaxInt64)
	if err != nil {
		return rdb.Dump{}, err
	}
	defer func() { _ = file.Close() }()
	is, err := rdb.Read(file)
	// An earlier or a later release may not have known a type of values, and so not have counted: the checksum has to do then.
	counted := is.Keys != rdb.Uncounted && m.Keys != rdb.Uncounted
	if err == nil && counted && (is.Keys != m.Keys || is.Expires != m.Expires) {
		err = fmt.Errorf("the dump has %d keys, %d of them with a time to live, but its manifest says %d and %d",
			is.Keys, is.Expires, m.Keys, m.Expires)
	}
	return is, err
}

// redisArguments have a server load the dump, write nothing, and be reached by a socket alone.
func redisArguments(dataFile, socket string, is rdb.Dump) []string {
	databases := max(is.Databases, 16) // Redis' own default
	if is.Databases == rdb.Uncounted {
		databases = uncountedDatabases
	}
	return []string{
		"--port", "0", "--unixsocket", socket, "--unixsocketperm", "700",
		"--dir", filepath.Dir(dataFile), "--dbfilename", filepath.Base(dataFile),
		"--appendonly", "no", "--save", "", "--databases", strconv.FormatInt(databases, 10),
		"--loglevel", "notice", "--logfile", "", "--daemonize", "no", "--" + backup.SanitizeDirective, "yes",
	}
}

// checkLoaded waits until the server has loaded the dump, and counts what it has loaded. Keys whose time to live is over are not,
// nor are those that have lost their last field by it.
func (s *scratchServer) checkLoaded(ctx context.Context, socket string, want int64) error {
	var fields map[string]string
	err := s.await(ctx, func(ctx context.Context) (ready bool, err error) {
		fields, err = askSocket(ctx, socket)
		return err == nil && fields["loading"] == "0", nil // before it listens, and while it loads, it is asked again
	})
	if err != nil {
		return err
	}
	loaded, err := strconv.ParseInt(fields["rdb_last_load_keys_loaded"], 10, 64)
	expired, err2 := strconv.ParseInt(fields["rdb_last_load_keys_expired"], 10, 64)
	if err := errors.Join(err, err2); err != nil {
		return fmt.Errorf("the server does not report how many keys it has loaded: %w", err)
	}
	empty := skippedEmpty(s.printed.all())
	if want != rdb.Uncounted && loaded+expired+empty != want {
		return fmt.Errorf("the server has loaded %d keys, and dropped %d that had expired and %d that were empty, but the dump has %d",
			loaded, expired, empty, want)
	}
	return nil
}

var emptyKeys = regexp.MustCompile(`empty keys skipped: ([0-9]{1,18})`)

// skippedEmpty reads from what a server prints how many keys it has not loaded as they were empty. It reports that nowhere else.
func skippedEmpty(printed string) int64 {
	found := emptyKeys.FindStringSubmatch(printed)
	if found == nil {
		return 0
	}
	n, _ := strconv.ParseInt(found[1], 10, 64) // the pattern has digits alone
	return n
}

// askSocket returns the INFO of the server behind a socket.
func askSocket(ctx context.Context, socket string) (map[string]string, error) {
	connection, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	c := &redisConn{Conn: connection, timeout: replyTimeout}
	c.reader = bufio.NewReader(timed{c})
	defer func() { _ = connection.Close() }()
	return c.info()
}
