package source

import (
	"bytes"
	"path/filepath"
	"slices"
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

// startCorrupt starts three members. The second, a follower, has another value on its disk than the leader, which is the first.
func startCorrupt(t *testing.T) []etcdServer {
	t.Helper()
	cluster := leaderFirst(t, startEtcd(t, 3))
	cluster[0].put(10, 100)
	if _, err := cluster[0].client.Put(t.Context(), "key", "this is the value"); err != nil {
		t.Fatal(err)
	}
	for n := range cluster {
		eventually(t, "it has all keys", func() bool { return cluster[n].look(t.Context()) == nil && cluster[n].revision == 12 })
	}
	cluster[1].corrupt("this is the value")
	return cluster
}

// A member whose data has changed in silence gives a backup that is whole and starts: only other members know better.
func TestAMemberThatDiffersIsOutvoted(t *testing.T) {
	t.Parallel()
	cluster := startCorrupt(t)
	leader, wrong, right := cluster[0].endpoint, cluster[1].endpoint, cluster[2].endpoint
	for name, order := range map[string][]string{
		"the wrong one first": {wrong, right, leader},
		"the right one first": {right, leader, wrong},
	} {
		file := newFile(t)
		meta, err := Etcd(t.Context(), sourceOf(order...), "", file)
		if err != nil || meta.Compared == nil || meta.Compared.With != leader || !slices.Equal(meta.Compared.Outvoted, []string{wrong}) ||
			meta.Compared.Revision != 12 {
			t.Errorf("%s: got %+v, %v", name, meta.Compared, err)
			continue
		}
		m := manifestOf(meta)
		m.Compared = meta.Compared
		if err := VerifyEtcd(t.Context(), file.Name(), shortDir(t), m); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestASnapshotThatDiffersFromTheMembersIsNotVerified(t *testing.T) {
	t.Parallel()
	cluster := leaderFirst(t, startEtcd(t, 3))
	cluster[0].put(10, 100)
	if _, err := cluster[0].client.Delete(t.Context(), "key3"); err != nil {
		t.Fatal(err)
	}
	if _, err := cluster[0].client.Compact(t.Context(), 9); err != nil {
		t.Fatal(err)
	}
	file := newFile(t)
	meta, err := Etcd(t.Context(), sourceOf(endpointsOf(cluster)...), "", file)
	if err != nil || meta.Compared == nil || meta.Compared.With == "" {
		t.Fatalf("got %+v, %v", meta.Compared, err)
	}
	if meta.Compared.With == cluster[0].endpoint {
		t.Error("the leader was asked, which accepts no write meanwhile")
	}
	for _, c := range []struct {
		name   string
		change func(*backup.Comparison)
		want   string // "": verified
	}{
		{"the same data", func(*backup.Comparison) {}, ""},
		{"other data", func(c *backup.Comparison) { c.Hash++ }, "has other data at revision"},
		{"compacted in between", func(c *backup.Comparison) { c.Hash++; c.CompactRevision-- }, ""},
	} {
		m, compared := manifestOf(meta), *meta.Compared
		c.change(&compared)
		m.Compared = &compared
		err := VerifyEtcd(t.Context(), file.Name(), shortDir(t), m)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestWhatCannotBeComparedIsReadAndSaid(t *testing.T) {
	t.Parallel()
	cluster := startCorrupt(t)
	leader, wrong, right := &cluster[0], &cluster[1], &cluster[2]
	if meta, err := Etcd(t.Context(), sourceOf(leader.endpoint, right.endpoint), "", newFile(t)); err != nil || meta.Compared.With != "" ||
		!strings.Contains(meta.Compared.Skipped, "two healthy followers; found: 1") {
		t.Errorf("of two members: %+v, %v", meta.Compared, err)
	}
	if _, err := Etcd(t.Context(), sourceOf(wrong.endpoint, right.endpoint), "", newFile(t)); err == nil || !backup.IsPermanent(err) ||
		!strings.Contains(err.Error(), "have different data at revision 12, and the other members do not show whose is right") {
		t.Errorf("of two that differ: %v", err)
	}
	if _, err := leader.client.Put(t.Context(), "key", "another value"); err != nil {
		t.Fatal(err)
	}
	if _, err := leader.client.Compact(t.Context(), 13); err != nil {
		t.Fatal(err)
	}
	members := []*etcdMember{leader.etcdMember, wrong.etcdMember, right.etcdMember}
	for _, m := range members {
		eventually(t, "it has all keys", func() bool { return m.look(t.Context()) == nil && m.revision == 13 })
	}
	eventually(t, "both have compacted", func() bool {
		_, err := hashKeyValues(t.Context(), right.client, 12)
		_, other := hashKeyValues(t.Context(), wrong.client, 12)
		return err != nil && other != nil
	})
	if chosen, compared, err := compare(t.Context(), members, right.etcdMember, 12); err != nil || chosen != right.etcdMember ||
		!strings.Contains(compared.Skipped, "compacted") {
		t.Errorf("after a compaction: %+v, %v", compared, err)
	}
}
