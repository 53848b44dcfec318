package source

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
)

// etcdServer is a member of a real etcd.
type etcdServer struct {
	process
	endpoint string
	*etcdMember
}

// startEtcd starts a cluster of so many members, and waits until each has a leader. Further words are for all of them.
func startEtcd(t *testing.T, size int, words ...string) []etcdServer {
	t.Helper()
	var hosts, peers []string
	for n := range size {
		hosts = append(hosts, newAddress())
		peers = append(peers, fmt.Sprintf("m%d=http://%s:2380", n, hosts[n]))
	}
	cluster := make([]etcdServer, size)
	for n, host := range hosts {
		peer := fmt.Sprintf("http://%s:2380", host)
		own := []string{fmt.Sprint("--name=m", n), "--data-dir=" + t.TempDir(), "--log-level=error", "--listen-peer-urls=" + peer,
			"--initial-advertise-peer-urls=" + peer, "--initial-cluster=" + strings.Join(peers, ","), "--unsafe-no-fsync",
			"--heartbeat-interval=300", "--election-timeout=3000"} // a machine that is busy makes no other leader
		if len(words) == 0 {
			own = append(own, "--listen-client-urls=http://"+host+":2379", "--advertise-client-urls=http://"+host+":2379")
		}
		for _, word := range words {
			own = append(own, strings.ReplaceAll(word, "HOST", host))
		}
		cluster[n] = etcdServer{process: startProcess(t, "etcd", own...), endpoint: host + ":2379"}
	}
	if len(words) == 0 {
		for n := range cluster {
			cluster[n].connect()
		}
	}
	return cluster
}

// connect waits until the member has a leader.
func (e *etcdServer) connect() {
	e.t.Helper()
	eventually(e.t, "it has a leader", func() bool {
		m, err := openMember(e.t.Context(), e.endpoint, login{})
		if err != nil {
			return false
		}
		if !m.hasLeader {
			m.close()
			return false
		}
		e.etcdMember = m
		return true
	})
	e.t.Cleanup(e.close)
}

// put writes so many keys of that size, which do not shrink.
func (e *etcdServer) put(count, size int) {
	e.t.Helper()
	value := make([]byte, size)
	_, _ = rand.Read(value)
	for n := range count {
		if _, err := e.client.Put(e.t.Context(), fmt.Sprint("key", n), string(value)); err != nil {
			e.t.Fatal(err)
		}
	}
}

// leaderFirst returns the members, the leader before the others.
func leaderFirst(t *testing.T, cluster []etcdServer) []etcdServer {
	t.Helper()
	for n := range cluster {
		if err := cluster[n].look(t.Context()); err != nil {
			t.Fatal(err)
		}
		if cluster[n].isLeader {
			cluster[0], cluster[n] = cluster[n], cluster[0]
		}
	}
	if !cluster[0].isLeader {
		t.Fatal("no member leads")
	}
	return cluster
}

// laggingMember is a follower of a real member, in its words: for its first answers it lacks the last revision.
type laggingMember struct {
	etcdserverpb.UnimplementedMaintenanceServer
	leader  etcdServer
	answers atomic.Int64
}

// answersBehind are how many answers of a laggingMember are out of date: those to the first look, and to two more.
const answersBehind = 3

func startLaggingMember(t *testing.T, leader etcdServer) string {
	t.Helper()
	listener, err := net.Listen("tcp", newAddress()+":2379")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	etcdserverpb.RegisterMaintenanceServer(server, &laggingMember{leader: leader})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

func (l *laggingMember) Status(ctx context.Context, _ *etcdserverpb.StatusRequest) (*etcdserverpb.StatusResponse, error) {
	answer, err := l.leader.client.Status(ctx, l.leader.endpoint)
	if err != nil {
		return nil, err
	}
	answer.Header.MemberId++ // which does not lead
	if l.answers.Add(1) <= answersBehind {
		answer.Header.Revision--
	}
	return (*etcdserverpb.StatusResponse)(answer), nil
}

func (l *laggingMember) Snapshot(_ *etcdserverpb.SnapshotRequest, to etcdserverpb.Maintenance_SnapshotServer) error {
	if l.answers.Load() <= answersBehind {
		return errors.New("one that lags is read")
	}
	answer, err := l.leader.client.SnapshotWithVersion(to.Context())
	if err != nil {
		return err
	}
	defer func() { _ = answer.Snapshot.Close() }()
	all, err := io.ReadAll(answer.Snapshot)
	if err != nil {
		return err
	}
	return to.Send(&etcdserverpb.SnapshotResponse{Blob: all, Version: answer.Version})
}

func endpointsOf(cluster []etcdServer) []string {
	var all []string
	for _, s := range cluster {
		all = append(all, s.endpoint)
	}
	return all
}

func newFile(t *testing.T) *os.File {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return file
}
