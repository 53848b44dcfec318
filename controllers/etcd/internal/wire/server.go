// Package wire speaks with one etcd server: it looks, and it changes the members. It decides nothing. Every answer is bounded
// and validated, as any program may answer.
package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/untrusted"
)

const (
	// ClientPort is where each member serves clients.
	ClientPort = 2379
	// PeerPort is where the members reach each other.
	PeerPort = 2380
	// MetricsPort serves metrics and probes in the clear.
	MetricsPort = 2381

	// maxReply bounds one reply, in bytes: the longest that is asked for is the list of members. The library's own bound is
	// 2 GiB.
	maxReply = 64 << 10
	// maxMembers bounds a list of members. etcd itself warns beyond 7.
	maxMembers = 32
	// dialTimeout is the time to connect to a server.
	dialTimeout = 500 * time.Millisecond
	// maxRetries bounds how often the library asks again, 25 ms later each time. Where a token is refused it would do so a hundred
	// times, and the time for a look would be over before it is known why.
	maxRetries = 4
	// readTimeout is the time for one read of a key from the server's own data.
	readTimeout = 500 * time.Millisecond
)

var (
	// ErrLearnerBehind is the leader's refusal to promote a learner that has not caught up.
	ErrLearnerBehind = errors.New("the learner has not caught up with the leader yet")
	// ErrUnhealthy is the leader's refusal to change members while one does not answer it, or did not for a while.
	ErrUnhealthy = errors.New("etcd refuses to change members until all of them have been connected for some seconds")
	// ErrBusy says that a server does not read its data now: it is being defragmented, or its disk hangs.
	ErrBusy = errors.New("the member does not read its data yet: a defragmentation is under way, or its disk hangs")
)

// Server is one etcd server.
type Server struct {
	client  *clientv3.Client
	http    *http.Client
	login   credentials.PerRPCCredentials // nil for none
	url     string
	address string
}

// Open returns the server at an address. It connects when it is first asked, and shows what login has, of which nil is nothing.
// Close it.
func Open(address string, secure *tls.Config, login credentials.PerRPCCredentials) (*Server, error) {
	if _, err := netip.ParseAddr(address); err != nil {
		return nil, fmt.Errorf("%s is no address to connect to", untrusted.Quote(address))
	}
	scheme := "http"
	if secure != nil {
		scheme = "https"
	}
	url := scheme + "://" + net.JoinHostPort(address, fmt.Sprint(ClientPort))
	config := clientv3.Config{
		Endpoints: []string{url}, TLS: secure, DialTimeout: dialTimeout, Logger: zap.NewNop(),
		MaxCallRecvMsgSize: maxReply, DialOptions: []grpc.DialOption{grpc.WithNoProxy(), grpc.WithMaxHeaderListSize(maxReply)},
	}
	if login != nil {
		config.DialOptions, config.MaxUnaryRetries = append(config.DialOptions, grpc.WithPerRPCCredentials(login)), maxRetries
	}
	client, err := clientv3.New(config)
	if err != nil {
		return nil, fmt.Errorf("opening a client: %w", err)
	}
	transport := &http.Transport{TLSClientConfig: secure, DisableKeepAlives: true, MaxResponseHeaderBytes: maxReply}
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Server{client, &http.Client{Transport: transport, CheckRedirect: noRedirect}, login, url, address}, nil
}

// Close ends the connection.
func (s *Server) Close() { _ = s.client.Close() }

// Look asks the server what it says of itself.
func (s *Server) Look(ctx context.Context) membership.View {
	status, err := s.client.Status(ctx, s.url)
	if err != nil || status.Header == nil {
		return membership.View{LockedOut: errors.Is(translate(err), ErrLockedOut)}
	}
	version, _ := membership.ParseVersion(status.Version) // none is that of a server that is not etcd 3
	return membership.View{
		Answered: true, ID: status.Header.MemberId, ClusterID: status.Header.ClusterId, Leader: status.Leader, IsLearner: status.IsLearner,
		Version: version, ClusterVersion: s.clusterVersion(ctx), Term: status.RaftTerm, Index: status.RaftIndex, Applied: status.RaftAppliedIndex,
		Revision: status.Header.Revision, HasAlarms: len(status.Errors) > 0, DBSize: status.DbSize, DBUsed: status.DbSizeInUse,
		Quota: status.DbSizeQuota,
	}
}

var agreedVersion = regexp.MustCompile(`"etcdcluster":"(3\.[0-9]{1,3})\.[0-9]{1,3}"`)

// clusterVersion returns the minor version that the server uses by agreement; empty if it does not say.
func (s *Server) clusterVersion(ctx context.Context) string {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/version", nil)
	if err != nil {
		return ""
	}
	reply, err := s.http.Do(request)
	if err != nil {
		return ""
	}
	defer func() { _ = reply.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(reply.Body, maxReply))
	found := agreedVersion.FindSubmatch(text)
	if err != nil || found == nil {
		return ""
	}
	return string(found[1])
}

// Members returns etcd's list of members. It takes a majority.
func (s *Server) Members(ctx context.Context) ([]membership.ListedMember, error) {
	list, err := s.client.MemberList(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing members: %w", translate(err))
	}
	if len(list.Members) == 0 || len(list.Members) > maxMembers {
		return nil, fmt.Errorf("listing members: %d are none that the operator can manage", len(list.Members))
	}
	return listed(list.Members), nil
}

// Alarms returns those that are raised. etcd writes an entry to its log for the question, so it is for when there are some.
func (s *Server) Alarms(ctx context.Context) ([]membership.Alarm, error) {
	alarms, err := s.client.AlarmList(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing alarms: %w", translate(err))
	}
	return raised(alarms.Alarms), nil
}

func listed(members []*pb.Member) []membership.ListedMember {
	all := make([]membership.ListedMember, 0, len(members))
	for _, m := range members {
		all = append(all, membership.ListedMember{ID: m.ID, Name: m.Name, PeerURL: strings.Join(m.PeerURLs, ","), IsLearner: m.IsLearner})
	}
	return all
}

var alarmTypes = map[pb.AlarmType]string{pb.AlarmType_NOSPACE: membership.AlarmNoSpace, pb.AlarmType_CORRUPT: membership.AlarmCorrupt}

func raised(alarms []*pb.AlarmMember) []membership.Alarm {
	var all []membership.Alarm
	for _, a := range alarms {
		if name := alarmTypes[a.Alarm]; name != "" && len(all) < 2*maxMembers {
			all = append(all, membership.Alarm{ID: a.MemberID, Type: name})
		}
	}
	return all
}

// AddLearner adds a member that does not count for the majority yet, and returns its ID.
func (s *Server) AddLearner(ctx context.Context, peerURL string) (uint64, error) {
	added, err := s.client.MemberAddAsLearner(ctx, []string{peerURL})
	if err != nil {
		return 0, fmt.Errorf("adding a member: %w", translate(err))
	}
	if added.Member == nil {
		return 0, errors.New("adding a member: the reply names none")
	}
	return added.Member.ID, nil
}

// Remove removes a member. One that is gone is no error.
func (s *Server) Remove(ctx context.Context, id uint64) error {
	if _, err := s.client.MemberRemove(ctx, id); err != nil && !errors.Is(err, rpctypes.ErrMemberNotFound) {
		return fmt.Errorf("removing a member: %w", translate(err))
	}
	return nil
}

// Promote makes a learner a voter. One that is a voter is no error.
func (s *Server) Promote(ctx context.Context, id uint64) error {
	if _, err := s.client.MemberPromote(ctx, id); err != nil && !errors.Is(err, rpctypes.ErrMemberNotLearner) {
		return fmt.Errorf("promoting a learner: %w", translate(err))
	}
	return nil
}

// MoveLeader hands the lead to another voter. Only the leader can.
func (s *Server) MoveLeader(ctx context.Context, to uint64) error {
	if _, err := s.client.MoveLeader(ctx, to); err != nil && !errors.Is(err, rpctypes.ErrNotLeader) {
		return fmt.Errorf("moving the leader: %w", err)
	}
	return nil
}

// WriteEntries writes so many entries to raft's log that change nothing: leases that are granted and revoked.
func (s *Server) WriteEntries(ctx context.Context, count int) error {
	for range (count + 1) / 2 {
		lease, err := s.client.Grant(ctx, 60)
		if err == nil {
			_, err = s.client.Revoke(ctx, lease.ID)
		}
		if err != nil {
			return fmt.Errorf("writing entries without effect: %w", err)
		}
	}
	return nil
}

// refusals are etcd's answers to who has not logged in, or may not do it.
var refusals = []error{rpctypes.ErrInvalidAuthToken, rpctypes.ErrUserEmpty, rpctypes.ErrUserNotFound, rpctypes.ErrPermissionDenied}

// translate gives errors that are answered by waiting a name of their own.
func translate(err error) error {
	switch {
	case errors.Is(err, rpctypes.ErrMemberLearnerNotReady):
		return ErrLearnerBehind
	case errors.Is(err, rpctypes.ErrUnhealthy), errors.Is(err, rpctypes.ErrMemberNotEnoughStarted):
		return ErrUnhealthy
	case slices.ContainsFunc(refusals, func(refusal error) bool { return errors.Is(err, refusal) }):
		return fmt.Errorf("%w: %w", ErrLockedOut, err)
	}
	return err
}
