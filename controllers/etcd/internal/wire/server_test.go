package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
)

// startEtcd runs a real etcd of one member at an address of the loopback's network, and waits until it leads.
func startEtcd(t *testing.T, address string) *Server {
	t.Helper()
	s := runEtcd(t, address)
	eventually(t, "it does not lead", func() bool { return s.Look(t.Context()).Leader != 0 })
	return s
}

// runEtcd runs a real etcd at an address of the loopback's network, on the ports of every member, with these peers next to it.
func runEtcd(t *testing.T, address string, peers ...string) *Server {
	t.Helper()
	runEtcdWith(t, address, peers)
	return open(t, address)
}

// runEtcdWith does so with more arguments.
func runEtcdWith(t *testing.T, address string, peers []string, more ...string) {
	t.Helper()
	program, err := filepath.Abs("../../../../.bin/etcd")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%v; `go run -C hack/cluster . assets` builds it", err)
	}
	client, peer := fmt.Sprintf("http://%s:%d", address, ClientPort), fmt.Sprintf("http://%s:%d", address, PeerPort)
	etcd := exec.Command(program, "--name=a", "--data-dir="+t.TempDir(), "--log-level=error", "--listen-client-urls="+client,
		"--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer,
		"--listen-metrics-urls="+fmt.Sprintf("http://%s:%d", address, MetricsPort),
		"--initial-cluster="+strings.Join(append(peers, "a="+peer), ","))
	etcd.Args = append(etcd.Args, more...)
	etcd.Stderr = os.Stderr
	if err := etcd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = etcd.Process.Kill()
		_ = etcd.Wait()
	})
}

// eventually waits until that is so.
func eventually(t *testing.T, otherwise string, isSo func() bool) {
	t.Helper()
	deadline, tick := time.NewTimer(time.Minute), time.NewTicker(10*time.Millisecond)
	defer deadline.Stop()
	defer tick.Stop()
	for !isSo() {
		select {
		case <-deadline.C:
			t.Fatal(otherwise)
		case <-tick.C:
		}
	}
}

func open(t *testing.T, address string) *Server {
	t.Helper()
	s, err := Open(address, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestARealServer(t *testing.T) {
	s, ctx := startEtcd(t, "127.77.0.1"), t.Context()
	first := s.Look(ctx)
	if !first.Answered || first.ID == 0 || first.ID != first.Leader || first.Version.Minor < 5 ||
		first.ClusterVersion != first.Version.MinorString() || first.DBSize == 0 {
		t.Errorf("it says %+v", first)
	}
	if err := s.WriteEntries(ctx, 10); err != nil {
		t.Fatal(err)
	}
	// it answers before it counts them
	eventually(t, "it has not applied 10 entries more", func() bool { return s.Look(ctx).Applied >= first.Applied+10 })
	if after := s.Look(ctx); after.Revision != first.Revision {
		t.Errorf("the keys changed: revision %d became %d", first.Revision, after.Revision)
	}
	former := changeMembers(t, s, first.ID)
	maintain(t, s, former)
	if err := s.MoveLeader(ctx, first.ID); err != nil {
		t.Error(err)
	}
}

// changeMembers adds a member to the only one, and removes it again. It returns the ID that it had.
func changeMembers(t *testing.T, s *Server, only uint64) (former uint64) {
	t.Helper()
	ctx := t.Context()
	id, err := s.AddLearner(ctx, "https://b:2380")
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.Members(ctx)
	if err != nil || len(list) != 2 {
		t.Fatalf("%v, %v", list, err)
	}
	if alarms, err := s.Alarms(ctx); err != nil || len(alarms) != 0 || s.Look(ctx).HasAlarms {
		t.Errorf("%v, %v", alarms, err)
	}
	for _, m := range list {
		if want := (membership.ListedMember{ID: id, PeerURL: "https://b:2380", IsLearner: true}); m.ID == id && m != want {
			t.Errorf("got %+v", m)
		}
	}
	if err := s.Promote(ctx, id); !errors.Is(err, ErrLearnerBehind) {
		t.Errorf("a learner that never ran is promoted: %v", err)
	}
	if err := s.Promote(ctx, only); err != nil {
		t.Errorf("a voter is one already: %v", err)
	}
	for range 2 { // the second finds it gone
		if err := s.Remove(ctx, id); err != nil {
			t.Error(err)
		}
	}
	return id
}

// maintain compacts, compares, defragments, and takes back the alarm of a member that is gone.
func maintain(t *testing.T, s *Server, former uint64) {
	t.Helper()
	ctx := t.Context()
	for range 2 { // the second finds it done
		if err := s.Compact(ctx, s.Look(ctx).Revision); err != nil {
			t.Error(err)
		}
	}
	if hash, err := s.HashData(ctx); err != nil || hash.Hash == 0 || hash.Revision != s.Look(ctx).Revision ||
		hash.CompactRevision != hash.Revision {
		t.Errorf("%+v, %v", hash, err)
	}
	var err error
	eventually(t, "it is busy", func() bool { err = s.Defragment(ctx); return !errors.Is(err, ErrBusy) })
	if err != nil {
		t.Error(err)
	}
	if err := s.Disarm(ctx, membership.Alarm{ID: former, Type: membership.AlarmNoSpace}); err != nil {
		t.Error(err)
	}
}

func TestNoNameIsDialled(t *testing.T) {
	for _, address := range []string{"", "example.org", "10.0.0.1:2379", "10.0.0.1/x"} {
		if _, err := Open(address, nil, nil); err == nil {
			t.Errorf("%q is taken", address)
		}
	}
}

// liar answers like an etcd, but at length.
type liar struct {
	pb.UnimplementedMaintenanceServer
	pb.UnimplementedClusterServer
	version string
	members int
}

func (l *liar) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	return &pb.StatusResponse{Header: &pb.ResponseHeader{MemberId: 1}, Leader: 1, Version: l.version}, nil
}

func (l *liar) MemberList(context.Context, *pb.MemberListRequest) (*pb.MemberListResponse, error) {
	reply := &pb.MemberListResponse{Header: &pb.ResponseHeader{}}
	for i := range l.members {
		reply.Members = append(reply.Members, &pb.Member{ID: uint64(i), Name: l.version}) //nolint:gosec // small
	}
	return reply, nil
}

func TestServersThatLie(t *testing.T) {
	for i, c := range []struct {
		name string
		liar
		answers bool
	}{
		{"a version that is none", liar{version: "nine\n"}, true},
		{"a version without a patch", liar{version: "3.7"}, true},
		{"a version of a megabyte", liar{version: strings.Repeat("3", 1<<20)}, false},
		{"a thousand members", liar{version: "3.6.16", members: 1000}, true},
		{"no member", liar{version: "3.6.16"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			address := fmt.Sprintf("127.77.1.%d", i+1)
			listener, err := net.Listen("tcp", fmt.Sprintf("%s:%d", address, ClientPort))
			if err != nil {
				t.Fatal(err)
			}
			server := grpc.NewServer()
			pb.RegisterMaintenanceServer(server, &c.liar)
			pb.RegisterClusterServer(server, &c.liar)
			go func() { _ = server.Serve(listener) }()
			t.Cleanup(server.Stop)
			s, ctx := open(t, address), t.Context()
			if view := s.Look(ctx); view.Answered != c.answers || view.ClusterVersion != "" || c.version != "3.6.16" &&
				view.Version != (membership.Version{}) {
				t.Errorf("it is believed: %+v", view)
			}
			if _, err := s.Members(ctx); err == nil {
				t.Error("its members are believed")
			}
		})
	}
}

// busy is a server that is being defragmented: it reports its status, and reads nothing.
type busy struct {
	pb.UnimplementedKVServer
	pb.UnimplementedMaintenanceServer
	asked atomic.Int32 // for a defragmentation
}

func (*busy) Range(ctx context.Context, _ *pb.RangeRequest) (*pb.RangeResponse, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (b *busy) Defragment(context.Context, *pb.DefragmentRequest) (*pb.DefragmentResponse, error) {
	b.asked.Add(1)
	return &pb.DefragmentResponse{}, nil
}

func TestADefragmentationIsNotAskedForTwice(t *testing.T) {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.77.2.2:%d", ClientPort))
	if err != nil {
		t.Fatal(err)
	}
	b, server := &busy{}, grpc.NewServer()
	pb.RegisterKVServer(server, b)
	pb.RegisterMaintenanceServer(server, b)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	if err := open(t, "127.77.2.2").Defragment(t.Context()); !errors.Is(err, ErrBusy) || b.asked.Load() != 0 {
		t.Errorf("%v, asked %d times", err, b.asked.Load())
	}
}

func TestAServerThatSaysNothing(t *testing.T) {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.77.2.1:%d", ClientPort))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	ctx, done := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer done()
	if view := open(t, "127.77.2.1").Look(ctx); view.Answered {
		t.Errorf("it answers %+v", view)
	}
}
