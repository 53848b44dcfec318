package source

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// corrupt stops the member, changes the value of one key on its disk, and starts it again.
func (e *etcdServer) corrupt(value string) {
	e.t.Helper()
	e.close()
	e.signal(syscall.SIGTERM)
	_ = e.Wait()
	dir := ""
	for _, word := range e.Args {
		if at, ok := strings.CutPrefix(word, "--data-dir="); ok {
			dir = at
		}
	}
	data, err := bbolt.Open(filepath.Join(dir, "member", "snap", "db"), 0o600, nil)
	if err != nil {
		e.t.Fatal(err)
	}
	changed := 0
	err = data.Update(func(tx *bbolt.Tx) error {
		keys := tx.Bucket([]byte("key"))
		return keys.ForEach(func(key, entry []byte) error {
			if !bytes.Contains(entry, []byte(value)) {
				return nil
			}
			changed++
			return keys.Put(key, bytes.Replace(entry, []byte(value), bytes.ToUpper([]byte(value)), 1))
		})
	})
	if err := data.Close(); err != nil {
		e.t.Fatal(err)
	}
	if err != nil || changed != 1 {
		e.t.Fatalf("%d keys were changed: %v", changed, err)
	}
	e.process = startProcess(e.t, "etcd", e.Args[1:]...)
	e.connect()
}

// A member whose data has changed without a word gives a backup that is whole and starts: only another member knows better.
func TestABackupOfAMemberThatDiffersIsRefused(t *testing.T) {
	t.Parallel()
	cluster := leaderFirst(t, startEtcd(t, 3))
	leader, wrong, right := cluster[0], &cluster[1], cluster[2]
	leader.put(10, 100)
	if _, err := leader.client.Put(t.Context(), "key", "this is the value"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it has all keys", func() bool { return wrong.look(t.Context()) == nil && wrong.revision == 12 })
	wrong.corrupt("this is the value")
	if _, err := Etcd(t.Context(), sourceOf(leader.endpoint, right.endpoint), "", newFile(t)); err != nil {
		t.Errorf("of a member that is right: %v", err)
	}
	file := newFile(t)
	_, err := Etcd(t.Context(), sourceOf(leader.endpoint, wrong.endpoint), "", file)
	if err == nil || !backup.IsPermanent(err) || !strings.Contains(err.Error(), "have different keys at revision 12") {
		t.Errorf("of one that is wrong: %v", err)
	}
	if is, err := os.Stat(file.Name()); err != nil || is.Size() == 0 {
		t.Errorf("it was not read before: %v", err)
	}
}
