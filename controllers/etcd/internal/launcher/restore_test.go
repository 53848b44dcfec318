package launcher

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// fetched is a pod of a backup; what it has can be changed.
type fetched struct {
	data     []byte
	manifest backup.Manifest
	asked    atomic.Int32 // for the data
}

const item = "20260102T150405Z-89abcdef"

func newFetched(data []byte) *fetched {
	sum := sha256.Sum256(data)
	return &fetched{data: data, manifest: backup.Manifest{Format: backup.Format, Kind: backup.Etcd, Item: item, SHA256: "stored",
		RawSize: int64(len(data)), RawSHA256: hex.EncodeToString(sum[:])}}
}

func (f *fetched) serve(t *testing.T) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == backup.ManifestPath {
			_ = json.NewEncoder(w).Encode(f.manifest)
			return
		}
		f.asked.Add(1)
		_, _ = w.Write(f.data)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// starting is a pod of a member that is to start with the backup at that URL, with the words of an etcd in its folder.
func starting(t *testing.T, url string) (dir string, permit Permit, command []string) {
	t.Helper()
	permit = Permit{Pod: "p1", Data: "d", Fresh: true, State: StateNew, Token: "t", InitialCluster: []string{"a=http://own"},
		Restore: &Restore{URL: url, Item: item, SHA256: "stored"}}
	dir = newPod(t, permit)
	if err := os.MkdirAll(dir+"/data/d", 0o700); err != nil {
		t.Fatal(err)
	}
	return dir, permit, []string{dir + "/bin/etcd", "--name=a", "--initial-advertise-peer-urls=http://own"}
}

// installFakeEtcdutl puts one next to etcd that notes its words in the file "calls", and does what the script says.
func installFakeEtcdutl(t *testing.T, dir, script string) {
	t.Helper()
	const restored = `for word; do case $word in --data-dir=*) to=${word#--data-dir=};; esac; done; ` +
		`mkdir -p "$to/member/wal" "$to/member/snap"; `
	text := "#!/bin/sh\n" + fmt.Sprintf("echo \"$@\" >> %s/calls\n", dir) + restored + script + "\n"
	if err := errors.Join(os.Mkdir(dir+"/bin", 0o700), os.WriteFile(dir+"/bin/etcdutl", []byte(text), 0o700)); err != nil {
		t.Fatal(err)
	}
}

func TestAMemberStartsWithTheBackup(t *testing.T) {
	const whole, half = `cp "$3" "$to/member/snap/db"; echo > "$to/member/wal/0.wal"`,
		`echo half > "$to/member/wal/0.wal"; echo "Error: no such thing" >&2; exit 1`
	for _, c := range []struct {
		name     string
		script   string
		arrange  func(f *fetched, permit *Permit, volume string)
		want     string // part of the error; empty for none
		unusable bool
	}{
		{"restored by etcdutl", whole, nil, "", false},
		{"what is left of a restore that was cut short is dropped", whole, func(_ *fetched, _ *Permit, volume string) {
			_ = os.MkdirAll(volume+"/restoring-d/restored/member/wal/0.wal", 0o700)
		}, "", false},
		{"etcdutl fails", half, nil, "etcdutl snapshot restore: exit status 1: Error: no such thing", true},
		{"an image without etcdutl", "", func(_ *fetched, _ *Permit, volume string) { _ = os.RemoveAll(volume + "/../bin") }, "no such file",
			true},
		{"a volume without room", whole, func(f *fetched, _ *Permit, _ string) { f.manifest.RawSize = 1 << 60 }, "bytes free, and the restore",
			true},
		{"a manifest of no size", whole, func(f *fetched, _ *Permit, _ string) { f.manifest.RawSize = -1 }, "bytes free, and the restore", true},
		{"not before the operator has fetched it", whole, func(_ *fetched, p *Permit, _ string) { p.Restore.URL = "" }, "has not fetched it yet",
			false},
		{"the pod of the backup is away", whole, func(_ *fetched, p *Permit, _ string) { p.Restore.URL = "http://127.0.0.1:1" },
			"connection refused", false},
		{"it has another backup", whole, func(f *fetched, _ *Permit, _ string) { f.manifest.Item = "other" }, `has "other"`, false},
		{"it has another of that name", whole, func(f *fetched, _ *Permit, _ string) { f.manifest.SHA256 = "other" }, "and the permit names",
			false},
		{"less arrives", whole, func(f *fetched, _ *Permit, _ string) { f.data = f.data[1:] }, "arrived with 3 bytes", false},
		{"other data arrives", whole, func(f *fetched, _ *Permit, _ string) { f.data = []byte("atad") }, "another checksum", false},
		{"etcd cannot have the data ask for a login", whole, func(_ *fetched, p *Permit, volume string) {
			p.Restore.OperatorUsers = []string{"root"}
			_ = os.WriteFile(volume+"/../bin/etcd", []byte("#!/bin/sh\nexit 3\n"), 0o700)
		}, "requiring a login for the data: etcd ended before it was done: exit status 3", true},
		{"the snapshot takes no room that etcd needs meanwhile", whole, func(_ *fetched, p *Permit, volume string) {
			p.Restore.OperatorUsers = []string{"root"}
			script := fmt.Sprintf("#!/bin/sh\n[ -e %s ] && exit 4\nexit 3\n", snapshotFile(workDir(volume, "d")))
			_ = os.WriteFile(volume+"/../bin/etcd", []byte(script), 0o700)
		}, "exit status 3", true},
		{"no manifest arrives", whole, func(_ *fetched, p *Permit, _ string) { p.Restore.URL += "/nowhere" }, "invalid character", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFetched([]byte("data"))
			dir, permit, command := starting(t, f.serve(t))
			installFakeEtcdutl(t, dir, c.script)
			if c.arrange != nil {
				c.arrange(f, &permit, dir+"/data")
			}
			err := restoreOnce(command, permit, pathsIn(dir))
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) ||
				errors.As(err, new(unusableError)) != c.unusable {
				t.Fatalf("got %v", err)
			}
			if started, err := hasLog(dir + "/data/d"); started != (c.want == "") || err != nil {
				t.Errorf("it can start: %v, %v", started, err)
			}
			if db, _ := os.ReadFile(dir + "/data/d/member/snap/db"); c.want == "" && string(db) != "data" {
				t.Errorf("it starts with %q", db)
			}
			if left, _ := filepath.Glob(dir + "/data/restoring-*"); c.want == "" && len(left) > 0 {
				t.Errorf("%v is left", left)
			}
		})
	}
}

func TestABackupIsRestoredOnce(t *testing.T) {
	f := newFetched([]byte("data"))
	dir, permit, command := starting(t, f.serve(t))
	installFakeEtcdutl(t, dir, `echo > "$to/member/wal/0.wal"`)
	permit.Restore.RevisionBump = 1000
	superseded := dir + "/data/restoring-earlier" // of a restore that was cut short
	if err := errors.Join(os.Mkdir(superseded, 0o700), os.Mkdir(dir+"/data/earlier", 0o700)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := restoreOnce(command, permit, pathsIn(dir)); err != nil {
			t.Fatal(err)
		}
	}
	calls, err := os.ReadFile(dir + "/calls")
	want := fmt.Sprintf("snapshot restore %[1]s/snapshot.db --data-dir=%[1]s/restored --name=a --initial-advertise-peer-urls=http://own "+
		"--initial-cluster-token=t --initial-cluster=a=http://own --bump-revision=1000 --mark-compacted\n", dir+"/data/restoring-d")
	if string(calls) != want || err != nil || f.asked.Load() != 1 {
		t.Errorf("it ran %q, and asked %d times, %v", calls, f.asked.Load(), err)
	}
	if _, err := os.Stat(superseded); !os.IsNotExist(err) {
		t.Errorf("what an earlier restore left takes the room of this one: %v", err)
	}
	if _, err := os.Stat(dir + "/data/earlier"); err != nil {
		t.Errorf("other data goes with it: %v", err)
	}
	if err := os.Mkdir(dir+"/data/restoring-d", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := restoreOnce(command, permit, pathsIn(dir)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir + "/data/restoring-d"); !os.IsNotExist(err) {
		t.Errorf("what a restore left that was killed after its end stays: %v", err)
	}
}

// An unusable backup ends the container with words for the operator, and never starts a member without data.
func TestAnUnusableBackupIsReported(t *testing.T) {
	f := newFetched([]byte("data"))
	dir, _, command := starting(t, f.serve(t))
	installFakeEtcdutl(t, dir, "exit 3")
	_, message, code := run(t, dir, append([]string{StartCommand}, command...)...)
	if want := Unusable + "etcdutl snapshot restore: exit status 3: "; message != want || code != ExitUnusable {
		t.Errorf("it said %q, exit code %d", message, code)
	}
}

// A permit that comes later has the URL of a pod that was recreated.
func TestTheBackupIsAskedForWhereTheLatestPermitSays(t *testing.T) {
	f := newFetched([]byte("data"))
	dir, permit, command := starting(t, "")
	installFakeEtcdutl(t, dir, `echo > "$to/member/wal/0.wal"`)
	command[0] = "/bin/echo"
	if err := os.Symlink("/bin/echo", dir+"/bin/etcd"); err != nil {
		t.Fatal(err)
	}
	command[0] = dir + "/bin/etcd"
	launcher := startLauncher(t, dir, command...)
	permit.Restore.URL = f.serve(t)
	text, _ := json.Marshal(permit)
	if err := errors.Join(os.WriteFile(dir+"/permit.new", text, 0o600), os.Rename(dir+"/permit.new", dir+"/permit")); err != nil {
		t.Fatal(err)
	}
	if out := launcher.ended(); !strings.Contains(out, "--data-dir="+dir+"/data/d --initial-cluster-state=new") {
		t.Errorf("it said %q", out)
	}
}

// program is one of those that `go run -C hack/cluster . assets` builds.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs("../../../../.bin/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v; `go run -C hack/cluster . assets` builds it", err)
	}
	return path
}

// snapshotOf makes a backup of a real etcd that has one key, once it is prepared.
func snapshotOf(t *testing.T, e realEtcd, key string, prepare func(*realEtcd)) []byte {
	t.Helper()
	words := append(append([]string{}, e.words[1:]...), "--data-dir="+t.TempDir(),
		"--initial-cluster=a="+wordOf(e.words, "initial-advertise-peer-urls"))
	server := exec.Command(e.words[0], words...)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Process.Kill(); _ = server.Wait() }()
	await(t, "it serves", func() bool { return len(e.members()) > 0 })
	if err := e.post("/v3/kv/put", map[string]string{"key": key, "value": key}, &struct{}{}); err != nil {
		t.Fatal(err)
	}
	prepare(&e)
	data, err := e.snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// snapshot reads one by JSON, piece by piece.
func (r realEtcd) snapshot(ctx context.Context) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, wordOf(r.words, "listen-client-urls")+"/v3/maintenance/snapshot",
		strings.NewReader("{}"))
	if err != nil {
		return nil, err
	}
	if r.token != "" {
		request.Header.Set("Authorization", r.token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	var data []byte
	for pieces := json.NewDecoder(response.Body); pieces.More(); {
		var piece struct{ Result struct{ Blob []byte } }
		if err := pieces.Decode(&piece); err != nil {
			return nil, err
		}
		data = append(data, piece.Result.Blob...)
	}
	return data, nil
}

// newRealPod is a pod whose member starts with that backup, and has etcdutl next to etcd.
func newRealPod(t *testing.T, e *realEtcd, backup Restore) (dir string) {
	t.Helper()
	bin := t.TempDir()
	if err := errors.Join(os.Symlink(program(t, "etcd"), bin+"/etcd"), os.Symlink(program(t, "etcdutl"), bin+"/etcdutl")); err != nil {
		t.Fatal(err)
	}
	e.words[0] = bin + "/etcd"
	return newPod(t, Permit{Pod: "p1", Data: "d", Fresh: true, State: StateNew, Token: "t",
		InitialCluster: []string{"a=" + wordOf(e.words, "initial-advertise-peer-urls")}, Restore: &backup})
}

// A real member starts with a real backup, under another token, and continues with what it has when it restarts.
func TestARealMemberStartsWithTheBackup(t *testing.T) {
	e, key := newRealEtcd(t), base64.StdEncoding.EncodeToString([]byte("key"))
	f := newFetched(snapshotOf(t, e, key, func(*realEtcd) {}))
	dir := newRealPod(t, &e, Restore{URL: f.serve(t), Item: item, SHA256: "stored", RevisionBump: 1_000_000_000})
	for range 2 {
		launcher := startLauncher(t, dir, e.words...)
		await(t, "it serves", func() bool { return len(e.members()) > 0 })
		var found struct {
			Header struct {
				Revision int64 `json:",string"`
			}
			Kvs []struct{ Value string }
		}
		if err := e.post("/v3/kv/range", map[string]string{"key": key}, &found); err != nil || len(found.Kvs) != 1 ||
			found.Header.Revision < 1_000_000_000 {
			t.Errorf("it holds %+v, %v", found, err)
		}
		_ = launcher.Process.Kill()
		launcher.ended()
	}
	if f.asked.Load() != 1 {
		t.Errorf("the backup was asked for %d times", f.asked.Load())
	}
}
