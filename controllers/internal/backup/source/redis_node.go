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
	replication replication
}

// replication is what a server says of its role.
type replication struct {
	isMaster bool
	linked   bool // a replica that hears its master
	id       string
	offset   int64
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
func (n *redisNode) look() error {
	fields, err := n.conn.info()
	if err == nil {
		n.replication, err = parseReplication(fields)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", n.endpoint, err)
	}
	return nil
}

// parseReplication reads the reply to INFO, https://redis.io/docs/latest/commands/info/.
func parseReplication(fields map[string]string) (replication, error) {
	r := replication{isMaster: fields["role"] == "master", id: fields["master_replid"], version: fields["redis_version"]}
	if own := fields["valkey_version"]; own != "" {
		r.version = own // the other is the Redis that it is compatible with
	}
	offset := "slave_repl_offset"
	if r.isMaster {
		offset = "master_repl_offset"
	}
	var err error
	if r.offset, err = strconv.ParseInt(fields[offset], 10, 64); err != nil || r.offset < 0 {
		return replication{}, fmt.Errorf("%s in INFO is %s, not a number", offset, untrusted.Quote(fields[offset]))
	}
	switch {
	case fields["loading"] != "0":
		return replication{}, errors.New("it is still loading its data")
	case !r.isMaster && fields["role"] != "slave":
		return replication{}, fmt.Errorf("role in INFO is %s, neither master nor slave", untrusted.Quote(fields["role"]))
	case !replicationIDPattern.MatchString(r.id):
		return replication{}, fmt.Errorf("master_replid in INFO is %s, not 40 hexadecimal digits", untrusted.Quote(r.id))
	}
	r.linked = !r.isMaster && fields["master_link_status"] == "up"
	return r, checkVersion(r.version)
}

// follows reports whether the replica hears a master of that history.
func (r replication) follows(master replication) bool { return r.linked && r.id == master.id }

// has reports whether the replica has all that the master had.
func (r replication) has(master replication) bool {
	return r.follows(master) && r.offset >= master.offset
}
