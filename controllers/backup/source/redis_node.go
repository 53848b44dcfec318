package source

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/untrusted"
)

// replicationIDPattern is what Redis draws by getRandomHexChars in its util.c.
var replicationIDPattern = regexp.MustCompile(`^[0-9a-f]{40}$`)

// redisNode is a server that answers.
type redisNode struct {
	endpoint    string
	conn        *redisConn
	replication Replication
}

// Replication is what a server says of its role.
type Replication struct {
	IsMaster bool
	Linked   bool   // a replica that hears its master
	ID       string // of the history
	Offset   int64  // in that
	version  string
}

// openNode connects to a server and asks for its role.
func openNode(ctx context.Context, endpoint string, as login) (*redisNode, error) {
	conn, err := dialRedis(ctx, endpoint, as)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", endpoint, err)
	}
	n := &redisNode{endpoint: endpoint, conn: conn}
	if err := n.look(); err != nil {
		conn.close()
		return nil, err
	}
	return n, nil
}

// look asks again.
func (r *redisNode) look() error {
	fields, err := r.conn.info()
	if err == nil {
		r.replication, err = parseReplication(fields)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.endpoint, err)
	}
	return nil
}

// parseReplication reads the reply to INFO, https://redis.io/docs/latest/commands/info/.
func parseReplication(fields map[string]string) (Replication, error) {
	r := Replication{IsMaster: fields["role"] == "master", ID: fields["master_replid"], version: fields["redis_version"]}
	if own := fields["valkey_version"]; own != "" {
		r.version = own // the other is the Redis that it is compatible with
	}
	offset := "slave_repl_offset"
	if r.IsMaster {
		offset = "master_repl_offset"
	}
	var err error
	if r.Offset, err = strconv.ParseInt(fields[offset], 10, 64); err != nil || r.Offset < 0 {
		return Replication{}, fmt.Errorf("%s in INFO is %s, not a number", offset, untrusted.Quote(fields[offset]))
	}
	switch {
	case fields["loading"] != "0":
		return Replication{}, errors.New("it is still loading its data")
	case !r.IsMaster && fields["role"] != "slave":
		return Replication{}, fmt.Errorf("role in INFO is %s, neither master nor slave", untrusted.Quote(fields["role"]))
	case !replicationIDPattern.MatchString(r.ID):
		return Replication{}, fmt.Errorf("master_replid in INFO is %s, not 40 hexadecimal digits", untrusted.Quote(r.ID))
	}
	r.Linked = !r.IsMaster && fields["master_link_status"] == "up"
	return r, checkVersion(r.version)
}

// IsOf reports whether it is of that history; of any, if that is empty.
func (r Replication) IsOf(history string) bool { return history == "" || r.ID == history }

// Follows reports whether the replica hears a master of that history.
func (r Replication) Follows(master Replication) bool { return r.Linked && r.ID == master.ID }

// Has reports whether the replica has all that the master had.
func (r Replication) Has(master Replication) bool {
	return r.Follows(master) && r.Offset >= master.Offset
}

// MayGive reports whether a dump that the server starts at that offset of that history has all that the master had. A master starts
// another history with its first replica, and has all of its own data. A replica may follow another master by now, or give what it is
// giving to somebody else already.
func (r Replication) MayGive(id string, offset int64, master Replication) bool {
	return r.IsMaster || id == master.ID && offset >= master.Offset
}
