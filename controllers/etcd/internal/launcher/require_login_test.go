package launcher

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/mainstay-operator/mainstay-operator/test/authority"
)

// startingWithLogin is a pod whose member starts with a backup that is to require a login, by an etcd that does what the word says.
func startingWithLogin(t *testing.T, does string) (dir string, command []string) {
	t.Helper()
	dir, permit, command := starting(t, newFetched([]byte("data")).serve(t))
	installFakeEtcdutl(t, dir, `echo > "$to/member/wal/0.wal"`)
	permit.Restore.OperatorUsers = []string{rootUser}
	text, _ := json.Marshal(permit)
	script := fmt.Sprintf("#!/bin/sh\nexec %s %s \"$@\"\n", os.Args[0], fakeEtcd)
	if err := errors.Join(os.WriteFile(dir+"/permit", text, 0o600), os.WriteFile(dir+"/bin/etcd", []byte(script), 0o700),
		os.WriteFile(dir+"/forced", []byte(does), 0o600)); err != nil {
		t.Fatal(err)
	}
	return dir, append(command, "--listen-client-urls=http://0.0.0.0:2379")
}

// An etcd that agrees to require a login, and then requires none, never serves.
func TestDataThatAsksForNoLoginIsNotServed(t *testing.T) {
	dir, command := startingWithLogin(t, "serves")
	for range 2 {
		_, message, code := run(t, dir, append([]string{StartCommand}, command...)...)
		const why = "requiring a login for the data: etcd answers a client that has not logged in, although it has agreed to require a login"
		if message != Unusable+why || code != ExitUnusable {
			t.Errorf("it said %q, exit code %d", message, code)
		}
	}
	if got := strings.Join(calls(t, dir), ","); got != "restored,reached by no client,ended,restored,reached by no client,ended" {
		t.Errorf("got %s", got)
	}
}

// A pod that is deleted meanwhile does not show that the backup is unusable.
func TestAMemberThatIsAskedToEndBeforeItsDataIsServed(t *testing.T) {
	dir, command := startingWithLogin(t, "waits")
	launcher := startLauncher(t, dir, command...)
	await(t, "a server works on the data", func() bool { return len(calls(t, dir)) == 2 })
	if err := launcher.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	out := launcher.ended()
	if code := launcher.ProcessState.ExitCode(); code != ExitFailed || !strings.HasSuffix(out, "mainstay: it was asked to end\n") {
		t.Errorf("it said %q, exit code %d", out, code)
	}
	if started, err := hasLog(dir + "/data/d"); started || err != nil {
		t.Errorf("the data may be served: %v, %v", started, err)
	}
}

// user is one that a backup has, with a role of that name; its password is its name.
type user struct{ name, role string }

// addUsers adds users to an etcd, with their roles.
func addUsers(t *testing.T, e *realEtcd, users ...user) {
	t.Helper()
	mustPost := func(path string, question map[string]string) {
		t.Helper()
		if err := e.post(path, question, &struct{}{}); err != nil && !strings.Contains(err.Error(), "already exists") {
			t.Fatal(err)
		}
	}
	for _, u := range users {
		mustPost("/v3/auth/user/add", map[string]string{"name": u.name, "password": u.name})
		mustPost("/v3/auth/role/add", map[string]string{"name": u.role})
		mustPost("/v3/auth/user/grant", map[string]string{"user": u.name, "role": u.role})
	}
}

// logIn gives the client the token of that user.
func (r *realEtcd) logIn(name string) error {
	var reply struct{ Token string }
	err := r.post("/v3/auth/authenticate", map[string]string{"name": name, "password": name}, &reply)
	r.token = reply.Token
	return err
}

// securedEtcd is one whose clients show certificates and log in, as in a pod; its tokens are signed with a key.
func securedEtcd(t *testing.T) realEtcd {
	t.Helper()
	e, dir := newRealEtcd(t), t.TempDir()
	files := authority.New("one").Issue("a.ns.svc")
	files["token.key"] = []byte("a key of tokens")
	for name, content := range files {
		if err := os.WriteFile(dir+"/"+name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e.words = append(e.words, "--client-cert-auth", "--cert-file="+dir+"/tls.crt", "--key-file="+dir+"/tls.key",
		"--trusted-ca-file="+dir+"/ca.crt", "--auth-token=jwt,sign-method=HS256,priv-key="+dir+"/token.key,ttl=5m")
	return e
}

// A real etcd refuses each client that has not logged in, from the first answer on, and each user of the backup that may do everything or
// has a name of the operator's. Other users stay. Data that already requires a login is served as it is.
func TestARealMemberServesNoDataOfABackupWithoutALogin(t *testing.T) {
	const key = "a2V5" // "key"
	for _, c := range []struct {
		name         string
		requires     bool
		users        []user
		let, refused []string
	}{
		{"data without users", false, nil, nil, []string{"root"}},
		{"data with users", false, []user{{"root", "root"}, {"stranger", "root"}, {"application-a", "reader"}, {"reader", "reader"}},
			[]string{"reader"}, []string{"root", "stranger", "application-a"}},
		{"data that asks for a login", true, []user{{"root", "root"}, {"application-a", "reader"}}, []string{"root", "application-a"},
			[]string{"stranger"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := securedEtcd(t)
			f := newFetched(snapshotOf(t, e, key, func(e *realEtcd) {
				addUsers(t, e, c.users...)
				if !c.requires {
					return
				}
				if err := errors.Join(e.post("/v3/auth/enable", struct{}{}, &struct{}{}), e.logIn("root")); err != nil {
					t.Fatal(err)
				}
			}))
			dir := newRealPod(t, &e, Restore{URL: f.serve(t), Item: item, SHA256: "stored",
				OperatorUsers: []string{"root", "backup", "application-a", "application-b"}})
			for range 2 {
				launcher := startLauncher(t, dir, e.words...)
				await(t, "it refuses a client that has not logged in", func() bool {
					err := e.post("/v3/kv/range", map[string]any{"key": key, "serializable": true}, &struct{}{})
					if err == nil {
						t.Fatal("it answers a client that has not logged in")
					}
					return strings.Contains(err.Error(), "user name is empty")
				})
				for _, name := range c.let {
					if err := e.logIn(name); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				}
				for _, name := range c.refused {
					if err := e.logIn(name); err == nil || !strings.Contains(err.Error(), "authentication failed") {
						t.Errorf("%s is let in: %v", name, err)
					}
				}
				e.token = ""
				_ = launcher.Process.Kill()
				launcher.ended()
			}
		})
	}
}
