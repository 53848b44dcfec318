package source

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// maxMessage bounds one message of a server, in bytes. A snapshot comes in parts of 32 KiB (etcd's v3rpc/maintenance.go,
// snapshotSendBufferSize). The library's own bound is 2 GiB.
const maxMessage = 1 << 20

// maxHeaders bounds the headers of a reply, in bytes.
const maxHeaders = 64 << 10

// etcdMember is a server that answers.
type etcdMember struct {
	endpoint string
	client   *clientv3.Client // of this server alone

	cluster, id         uint64
	hasLeader, isLeader bool
	isLearner           bool
	revision            int64
	used                int64 // bytes of its file that have data
	version             string
	alarms              []string // in etcd's words
}

// openMember connects to a server, logs in, and asks for its status.
func openMember(ctx context.Context, endpoint string, as login) (*etcdMember, error) {
	if _, _, err := net.SplitHostPort(endpoint); err != nil {
		return nil, err
	}
	scheme := "http://"
	if as.secure != nil {
		scheme = "https://"
	}
	client, err := newEtcdClient(ctx, scheme+endpoint, as)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", endpoint, err)
	}
	m := &etcdMember{endpoint: endpoint, client: client}
	if err := m.look(ctx); err != nil {
		m.close()
		return nil, fmt.Errorf("%s: %w", endpoint, err)
	}
	return m, nil
}

// newEtcdClient returns a client of one server, whose messages are bounded. It logs in at once, in dialTimeout, if there is a login;
// otherwise it connects when it is first used.
func newEtcdClient(ctx context.Context, url string, as login, more ...grpc.DialOption) (*clientv3.Client, error) {
	client, err := clientv3.New(clientv3.Config{
		Context: ctx, Endpoints: []string{url}, TLS: as.secure, DialTimeout: dialTimeout, Logger: zap.NewNop(), MaxCallRecvMsgSize: maxMessage,
		Username: as.user, Password: as.password,
		MaxUnaryRetries: 2, // of 100: a server that is gone is not waited for, and a login that has ended takes another one
		DialOptions: append([]grpc.DialOption{grpc.WithNoProxy(), grpc.WithMaxHeaderListSize(maxHeaders),
			grpc.WithChainUnaryInterceptor(failFast), grpc.WithChainStreamInterceptor(failFastStream)}, more...),
	})
	if err != nil && as.user != "" {
		return nil, fmt.Errorf("logging in: %w", serverError(err))
	}
	return client, err
}

// failFast makes a call fail with the cause when there is no connection. The library would wait for one, and know no more than that
// the time was over.
func failFast(ctx context.Context, method string, request, reply any, connection *grpc.ClientConn, invoke grpc.UnaryInvoker,
	options ...grpc.CallOption,
) error {
	return invoke(ctx, method, request, reply, connection, append(options, grpc.WaitForReady(false))...)
}

func failFastStream(ctx context.Context, is *grpc.StreamDesc, connection *grpc.ClientConn, method string, open grpc.Streamer,
	options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	return open(ctx, is, connection, method, append(options, grpc.WaitForReady(false))...)
}

// clusterID is the ID of its cluster, as etcdctl writes it.
func (e *etcdMember) clusterID() string { return strconv.FormatUint(e.cluster, 16) }

func (e *etcdMember) close() { _ = e.client.Close() }

// look asks for the server's status.
func (e *etcdMember) look(ctx context.Context) error {
	ctx, done := context.WithTimeout(ctx, replyTimeout)
	defer done()
	status, err := e.client.Status(ctx, e.client.Endpoints()[0])
	if err != nil {
		return serverError(err)
	}
	if status.Header == nil {
		return errors.New("its status names no member")
	}
	e.cluster, e.id, e.revision = status.Header.ClusterId, status.Header.MemberId, status.Header.Revision
	e.hasLeader, e.isLeader, e.isLearner = status.Leader != 0, status.Leader == e.id, status.IsLearner
	e.version, e.alarms, e.used = status.Version, status.Errors, status.DbSizeInUse
	return nil
}

// flaw says why the member's data is not taken; "" if it is.
func (e *etcdMember) flaw() string {
	switch {
	case e.isLearner:
		return "it is a learner"
	case !e.hasLeader:
		return "it knows of no leader"
	}
	for _, alarm := range e.alarms {
		// Another member's is a flaw, too: who of them is wrong is not known.
		if strings.Contains(alarm, "CORRUPT") {
			return "the alarm CORRUPT is raised"
		}
	}
	return ""
}

// readCommitted returns the revision that the cluster has, which takes a majority: the read is linearizable.
func (e *etcdMember) readCommitted(ctx context.Context) (int64, error) {
	ctx, done := context.WithTimeout(ctx, replyTimeout)
	defer done()
	read, err := e.client.Get(ctx, "any", clientv3.WithCountOnly())
	if err != nil {
		return 0, fmt.Errorf("%s: %w", e.endpoint, serverError(err))
	}
	if read.Header == nil || read.Header.Revision < 1 {
		return 0, fmt.Errorf("%s: its reply has no revision", e.endpoint)
	}
	return read.Header.Revision, nil
}
