package source

import (
	"strings"
	"testing"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/etcdtoken"
)

// startGuardedEtcd starts a member that asks for logins. The user backup has the password "secret".
func startGuardedEtcd(t *testing.T) etcdServer {
	t.Helper()
	dir := writeFiles(t, map[string]string{"key": "the key of all members"})
	server := startEtcd(t, 1, "--listen-client-urls=http://HOST:2379", "--advertise-client-urls=http://HOST:2379",
		etcdtoken.Argument(dir+"/key", "5m"))[0]
	server.connect()
	server.put(3, 10)
	server.addUser(etcdtoken.Root, "of-root")
	server.addUser("backup", "secret")
	if _, err := server.client.AuthEnable(t.Context()); err != nil {
		t.Fatal(err)
	}
	return server
}

// addUser makes a user that may do everything.
func (e *etcdServer) addUser(name, password string) {
	e.t.Helper()
	if _, err := e.client.UserAdd(e.t.Context(), name, password); err != nil {
		e.t.Fatal(err)
	}
	if _, err := e.client.UserGrantRole(e.t.Context(), name, etcdtoken.Root); err != nil {
		e.t.Fatal(err)
	}
}

func etcdLogin(t *testing.T, password string) string {
	t.Helper()
	return writeFiles(t, map[string]string{"username": "backup", "password": password})
}

func TestASnapshotOfAnEtcdThatAsksForALogin(t *testing.T) {
	t.Parallel()
	server := startGuardedEtcd(t)
	file := newFile(t)
	meta, err := Etcd(t.Context(), sourceOf(server.endpoint), etcdLogin(t, "secret"), file)
	if err != nil || meta.Revision != 4 {
		t.Fatalf("got %+v, %v", meta, err)
	}
	if err := VerifyEtcd(t.Context(), file.Name(), shortDir(t), manifestOf(meta)); err != nil {
		t.Error(err)
	}
	if required, err := EtcdRequiresLogin(file.Name()); !required || err != nil {
		t.Errorf("it is not reported that the snapshot requires a login: %t, %v", required, err)
	}
	refuseBroken(t, file.Name(), meta)
}

func TestLoginsThatEtcdRefuses(t *testing.T) {
	t.Parallel()
	server, gone := startGuardedEtcd(t), newAddress()+":2379"
	for _, c := range []struct {
		name, endpoint, dir, want string
		permanent                 bool
	}{
		{"another password", server.endpoint, etcdLogin(t, "guessed"), "logging in: etcdserver: authentication failed", true},
		{"an empty password", server.endpoint, etcdLogin(t, ""), "username or password of the source is empty", true},
		{"no login", server.endpoint, t.TempDir(), "etcdserver: ", false},
		{"a login at a server that is gone", gone, etcdLogin(t, "secret"), "logging in: connection error", false},
	} {
		_, err := Etcd(t.Context(), sourceOf(c.endpoint), c.dir, newFile(t))
		if err == nil || !strings.Contains(err.Error(), c.want) || backup.IsPermanent(err) != c.permanent ||
			strings.Contains(err.Error(), "guessed") {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
}

// While a backup starts, another user's password may change, which ends all logins.
func TestALoginThatHasEndedIsFollowedByAnother(t *testing.T) {
	t.Parallel()
	server := startGuardedEtcd(t)
	members, err := openMembers(t.Context(), sourceOf(server.endpoint), login{user: "backup", password: "secret"})
	defer closeMembers(members)
	if err != nil {
		t.Fatal(err)
	}
	guarded := etcdServer{process: server.process, etcdMember: members[0]}
	guarded.addUser("application", "x")
	if revision, err := committed(t.Context(), members); err != nil || revision != 4 {
		t.Errorf("got %d, %v", revision, err)
	}
	if _, err := members[0].snapshot(t.Context(), newFile(t)); err != nil {
		t.Error(err)
	}
}

// A cluster may be read just before it asks for logins.
func TestALoginAtAnEtcdThatAsksForNone(t *testing.T) {
	t.Parallel()
	server := startEtcd(t, 1)[0]
	file := newFile(t)
	if meta, err := Etcd(t.Context(), sourceOf(server.endpoint), etcdLogin(t, "secret"), file); err != nil || meta.Revision != 1 {
		t.Errorf("got %+v, %v", meta, err)
	}
	if required, err := EtcdRequiresLogin(file.Name()); required || err != nil {
		t.Errorf("a snapshot without auth requires a login: %t, %v", required, err)
	}
}
