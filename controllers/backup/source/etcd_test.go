package source

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
)

func TestASnapshotIsOfAFollowerAndIsStartedFrom(t *testing.T) {
	t.Parallel()
	cluster := leaderFirst(t, startEtcd(t, 3))
	leader := cluster[0]
	leader.put(100, 1000)
	lease, err := leader.client.Grant(t.Context(), 3600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := leader.client.Put(t.Context(), "leased", "value", clientv3.WithLease(lease.ID)); err != nil {
		t.Fatal(err)
	}
	members, err := openMembers(t.Context(), sourceOf(endpointsOf(cluster)...), login{})
	if err != nil {
		t.Fatal(err)
	}
	defer closeMembers(members)
	if chosen, err := chooseMember(t.Context(), members, 1, time.Minute); err != nil || chosen.isLeader {
		t.Errorf("chosen is %+v, %v", chosen, err)
	}

	ctx, stop := context.WithCancel(t.Context())
	wrote := make(chan struct{})
	go func() { // a writer
		defer close(wrote)
		for n := 0; ctx.Err() == nil; n++ {
			_, _ = leader.client.Put(ctx, fmt.Sprint("written", n), "value")
		}
	}()
	defer func() { stop(); <-wrote }()
	before, err := leader.readCommitted(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	file := newFile(t)
	meta, err := Etcd(t.Context(), sourceOf(endpointsOf(cluster)...), "", file)
	if err != nil {
		t.Fatal(err)
	}
	if meta.Revision < before || meta.Revision < 102 || meta.ClusterID != fmt.Sprintf("%x", leader.cluster) ||
		!strings.HasPrefix(meta.ServerVersion, "3.") {
		t.Errorf("it shows %+v, and %d was committed before", meta, before)
	}
	if err := VerifyEtcd(t.Context(), file.Name(), shortDir(t), manifestOf(meta)); err != nil {
		t.Error(err)
	}
	refuseBroken(t, file.Name(), meta)
}

func TestASnapshotOfAMemberAlone(t *testing.T) {
	t.Parallel()
	alone := startEtcd(t, 1)[0]
	snapshot := func() Meta {
		t.Helper()
		meta, err := Etcd(t.Context(), sourceOf(alone.endpoint), "", newFile(t))
		if err != nil {
			t.Fatal(err)
		}
		return meta
	}
	meta := snapshot()
	if meta.Revision != 1 {
		t.Errorf("without a key it shows %+v", meta)
	}
	from := sourceOf(alone.endpoint)
	from.ClusterID = meta.ClusterID
	if _, err := Etcd(t.Context(), from, "", newFile(t)); err != nil {
		t.Error(err)
	}
	from.ClusterID = "abc" // of an EtcdCluster that was there under the same name
	if _, err := Etcd(t.Context(), from, "", newFile(t)); err == nil || !strings.Contains(err.Error(), "the backup was started for abc") {
		t.Errorf("another cluster is read: %v", err)
	}
	alone.put(3, 10)
	if _, err := alone.client.Delete(t.Context(), "key2"); err != nil {
		t.Fatal(err)
	}
	if _, err := alone.client.Compact(t.Context(), 5, clientv3.WithCompactPhysical()); err != nil {
		t.Fatal(err)
	}
	file := newFile(t)
	if meta, err := Etcd(t.Context(), sourceOf(alone.endpoint), "", file); err != nil || meta.Revision != 5 {
		t.Errorf("after its last change was compacted it shows %+v, %v", meta, err)
	}
	if err := VerifyEtcd(t.Context(), file.Name(), shortDir(t), backup.Manifest{Revision: 5}); err != nil {
		t.Error(err)
	}
	alone.breakOff()
}

// breakOff has the member die while it gives a snapshot, which must never be taken for a whole one.
func (e *etcdServer) breakOff() {
	e.t.Helper()
	e.put(32, 1<<20)
	pipe := e.t.TempDir() + "/pipe" // takes 64 KiB, so that the snapshot is on its way for as long as no one reads
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		e.t.Fatal(err)
	}
	into, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		e.t.Fatal(err)
	}
	defer func() { _ = into.Close() }()
	failed := make(chan error)
	go func() {
		_, err := Etcd(e.t.Context(), sourceOf(e.endpoint), "", into)
		failed <- err
	}()
	if _, err := io.ReadFull(into, make([]byte, 1<<10)); err != nil {
		e.t.Fatal(err)
	}
	e.kill()
	go func() { _, _ = io.Copy(io.Discard, into) }()
	if err := <-failed; err == nil || !strings.Contains(err.Error(), "reading the snapshot") {
		e.t.Errorf("got %v", err)
	}
}

func TestASnapshotOverTLS(t *testing.T) {
	t.Parallel()
	issuer := authority.New("one")
	dir := writeFiles(t, issuer.Issue("a.ns.svc"))
	server := startEtcd(t, 1, "--listen-client-urls=https://HOST:2379", "--advertise-client-urls=https://HOST:2379",
		"--cert-file="+dir+"/tls.crt", "--key-file="+dir+"/tls.key", "--trusted-ca-file="+dir+"/ca.crt", "--client-cert-auth")[0]
	from := backup.Source{Endpoints: []string{server.endpoint}, TLS: true, ServerName: "a.ns.svc"}
	as, err := etcdLoginOf(from, dir)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "it leads", func() bool {
		m, err := openMember(t.Context(), server.endpoint, as)
		if err != nil {
			return false
		}
		defer m.close()
		return m.isLeader
	})
	if meta, err := Etcd(t.Context(), from, dir, newFile(t)); err != nil || meta.Revision != 1 {
		t.Errorf("got %+v, %v", meta, err)
	}
	for name, with := range map[string]struct {
		server string
		files  map[string][]byte
	}{
		"of another name":      {"b.ns.svc", issuer.Issue("a.ns.svc")},
		"of another authority": {"a.ns.svc", authority.New("two").Issue("a.ns.svc")},
	} {
		from.ServerName = with.server
		if _, err := Etcd(t.Context(), from, writeFiles(t, with.files), newFile(t)); !backup.IsPermanent(err) ||
			!strings.Contains(err.Error(), "certificate") {
			t.Errorf("a server %s is read: %v", name, err)
		}
	}
}

func TestMembersThatAreNotRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		member etcdMember
		want   string
	}{
		{"a follower", etcdMember{hasLeader: true}, ""},
		{"a follower with an alarm of space", etcdMember{hasLeader: true, alarms: []string{"memberID:1 alarm:NOSPACE"}}, ""},
		{"a learner", etcdMember{hasLeader: true, isLearner: true}, "it is a learner"},
		{"a member without a leader", etcdMember{}, "it knows of no leader"},
		{"a follower with an alarm of corrupt data", etcdMember{hasLeader: true, alarms: []string{"memberID:1 alarm:CORRUPT"}},
			"the alarm CORRUPT is raised"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.member.flaw(); got != c.want {
				t.Errorf("got %q", got)
			}
		})
	}
	if _, err := chooseMember(t.Context(), []*etcdMember{{endpoint: "a:2379"}, {endpoint: "b:2379", hasLeader: true, isLearner: true}}, 1,
		time.Minute); err == nil ||
		!strings.Contains(err.Error(), "a:2379: it knows of no leader") || !strings.Contains(err.Error(), "b:2379: it is a learner") {
		t.Errorf("got %v", err)
	}
}

func TestClustersThatCannotBeRead(t *testing.T) {
	t.Parallel()
	cluster, other := leaderFirst(t, startEtcd(t, 3)), startEtcd(t, 1)[0]
	if _, err := Etcd(t.Context(), sourceOf(cluster[0].endpoint, other.endpoint), "", newFile(t)); err == nil ||
		!strings.Contains(err.Error(), "different clusters") {
		t.Errorf("of two clusters: %v", err)
	}
	// A follower that lags is not read before the leader.
	cluster[0].put(10, 10)
	revision, err := cluster[0].readCommitted(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	members := []*etcdMember{cluster[1].etcdMember, cluster[2].etcdMember, cluster[0].etcdMember}
	if chosen, err := chooseMember(t.Context(), members, revision, time.Minute); err != nil || chosen.isLeader {
		t.Errorf("chosen is %+v, %v", chosen, err)
	}
	if _, err := chooseMember(t.Context(), members, revision+1, time.Nanosecond); err == nil ||
		!strings.Contains(err.Error(), fmt.Sprint("has not reached revision ", revision+1)) {
		t.Errorf("got %v", err)
	}
	// A follower that stops is passed over, and one that continues is not read before it has what was written meanwhile.
	stopped := cluster[1]
	stopped.signal(syscall.SIGSTOP)
	cluster[0].readAfterWrite(cluster[2].endpoint, stopped.endpoint)
	stopped.signal(syscall.SIGCONT)
	cluster[0].readAfterWrite(stopped.endpoint)
	// Without a majority nothing is read.
	cluster[1].kill()
	cluster[2].kill()
	ctx, end := context.WithTimeout(t.Context(), 300*time.Millisecond) // there is never an answer
	defer end()
	if _, err := committed(ctx, members); err == nil || !strings.Contains(err.Error(), "no member can read what is committed") {
		t.Errorf("without a majority: %v", err)
	}
	if _, err := Etcd(t.Context(), sourceOf(cluster[1].endpoint), "", newFile(t)); err == nil ||
		!strings.Contains(err.Error(), "no server answers") {
		t.Errorf("without a server: %v", err)
	}
}

func TestAFollowerThatLagsIsWaitedFor(t *testing.T) {
	t.Parallel()
	alone := startEtcd(t, 1)[0]
	alone.put(1, 10)
	alone.readAfterWrite(startLaggingMember(t, alone))
}

// readAfterWrite writes to the member, and has a backup read it or one of the others, which must have that.
func (e *etcdServer) readAfterWrite(others ...string) {
	e.t.Helper()
	written, err := e.client.Put(e.t.Context(), "written", "value")
	if err != nil {
		e.t.Fatal(err)
	}
	if meta, err := Etcd(e.t.Context(), sourceOf(append(others, e.endpoint)...), "", newFile(e.t)); err != nil ||
		meta.Revision < written.Header.Revision {
		e.t.Errorf("got %+v, %v, and %d was written before", meta, err, written.Header.Revision)
	}
}

func TestASnapshotIsChecked(t *testing.T) {
	for name, snapshot := range map[string]string{"empty": "", "short": "short", "without its sum": strings.Repeat("x", 100)} {
		if err := copyChecked(io.Discard, strings.NewReader(snapshot)); err == nil {
			t.Error("a snapshot is accepted that is ", name)
		}
	}
	dir := writeFiles(t, map[string]string{"empty": "", "text": "text", "zeros": string(make([]byte, 1<<16))})
	for _, name := range []string{"empty", "text", "zeros", "none"} {
		if revision, err := revisionIn(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s has revision %d", name, revision)
		}
	}
	if _, err := findProgram("no-such-program"); !backup.IsPermanent(err) {
		t.Errorf("a program is found: %v", err)
	}
}
