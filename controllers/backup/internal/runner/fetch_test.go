package runner

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// packed is content as it is stored.
func packed(t *testing.T, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	if _, err := zip.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What is not as its manifest says is refused by name, and no other attempt would find it otherwise.
func TestFetchRefuses(t *testing.T) {
	data, manifest := backup.DataName(backup.Etcd, item(20)), backup.ManifestName(backup.Etcd, item(20))
	edit := func(change func(*backup.Manifest)) func(*pod) {
		return func(p *pod) {
			var m backup.Manifest
			if err := json.Unmarshal(p.get(manifest), &m); err != nil {
				p.t.Fatal(err)
			}
			change(&m)
			text, err := json.Marshal(m)
			if err != nil {
				p.t.Fatal(err)
			}
			p.replace(manifest, text)
		}
	}
	change := func(change func([]byte) []byte) func(*pod) {
		return func(p *pod) { p.replace(data, change(p.get(data))) }
	}
	// sized also corrects what the manifest says of the stored data, as an attacker who forges it would.
	sized := func(content func(*pod) []byte) func(*pod) {
		return func(p *pod) {
			stored := content(p)
			p.replace(data, stored)
			sum := newSum()
			_, _ = sum.Write(stored)
			edit(func(m *backup.Manifest) { m.Size, m.SHA256 = sum.size, sum.hex() })(p)
		}
	}
	for name, c := range map[string]struct {
		harm func(*pod)
		task func(*backup.Task)
		want string
	}{
		"truncated":          {change(func(b []byte) []byte { return b[:len(b)-1] }), nil, data + " has "},
		"longer":             {change(func(b []byte) []byte { return append(b, 0) }), nil, data + " has "},
		"corrupted":          {change(func(b []byte) []byte { b[len(b)/2] ^= 1; return b }), nil, data + " is corrupt: "},
		"as it was read":     {sized(func(p *pod) []byte { return p.content }), nil, data + " is corrupt: it is not what its manifest describes"},
		"half a stream":      {sized(func(p *pod) []byte { return packed(p.t, p.content)[:50_000] }), nil, data + " is corrupt: "},
		"another content":    {sized(func(p *pod) []byte { return packed(p.t, noise(99_999)) }), nil, data + " is corrupt: decompressed, "},
		"a gzip bomb":        {sized(func(p *pod) []byte { return packed(p.t, make([]byte, 1<<20)) }), nil, "it has more than 100000 bytes"},
		"data is missing":    {func(p *pod) { p.deleteObject(data) }, nil, data + " is not in the store, though its manifest is"},
		"no manifest":        {func(p *pod) { p.deleteObject(manifest) }, nil, item(20) + ": it has no manifest in the store"},
		"a later format":     {edit(func(m *backup.Manifest) { m.Format = 2 }), nil, "has format 2"},
		"a foreign manifest": {edit(func(m *backup.Manifest) { m.Item = item(19) }), nil, "belongs to another backup"},
		"a huge manifest":    {func(p *pod) { p.replace(manifest, make([]byte, backup.MaxManifest+1)) }, nil, "has more than 16384 bytes"},
		"a later version":    {nil, func(t *backup.Task) { t.MaxVersion = "3.5.35" }, "which etcd 3.5.35 cannot load"},
		"a backup without verification": {nil, func(t *backup.Task) { t.Choose = &backup.Choice{} },
			"the backup " + item(20) + " was never verified: set allowUnverified"},
		"no backup was started before": {nil, func(t *backup.Task) { t.Item, t.Choose = "", &backup.Choice{Before: today.Add(-time.Hour)} },
			folder + ": there is no backup that was started before"},
		"no such item": {nil, func(t *backup.Task) { t.Item = item(1) }, "there is no backup " + folder + "/" + item(1)},
		"of another source": {nil, func(t *backup.Task) { t.Choose = &backup.Choice{AllowUnverified: true, Source: "other"} },
			"the backup " + item(20) + " is of UID uid, and source asks for UID other"},
		"no backup is of the source": {nil, func(t *backup.Task) { t.Item, t.Choose = "", &backup.Choice{Source: "other"} },
			folder + ": there is no backup of source other"},
		"an invalid item": {nil, func(t *backup.Task) { t.Item = "../../secret" }, "is not the name of a backup"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			p.succeed(p.task(20), backup.CommandBackup)
			task := p.task(20)
			task.Verify = false
			if c.harm != nil {
				c.harm(p)
			}
			if c.task != nil {
				c.task(&task)
			}
			if result := p.run(backup.CommandFetch, task); !strings.Contains(result.Error, c.want) || !result.Permanent {
				t.Errorf("%+v", result)
			}
			if _, err := os.Stat(p.scratchFile(backup.ManifestFile)); err == nil {
				t.Error("there is a manifest for those who follow")
			}
		})
	}
}

// What has sums of its own may still be no backup: a restore stops servers for it.
func TestFetchForARestoreRefusesWhatIsNoBackup(t *testing.T) {
	p := newPod(t)
	p.succeed(p.task(20), backup.CommandBackup)
	p.checkError = errors.New("it is not data of etcd")
	task := backup.Task{Kind: backup.Etcd, Folder: folder, Choose: &backup.Choice{AllowUnverified: true}}
	want := folder + "/" + backup.DataName(backup.Etcd, item(20)) + " is not a backup: it is not data of etcd"
	if result := p.run(backup.CommandFetch, task); result.Error != want || !result.Permanent {
		t.Errorf("%+v", result)
	}
	if _, err := os.Stat(p.scratchFile(backup.ManifestFile)); err == nil {
		t.Error("there is a manifest for those who follow")
	}
	p.checkError = &fs.PathError{Op: "read", Path: "/scratch/data", Err: syscall.EIO}
	if result := p.run(backup.CommandFetch, task); !strings.Contains(result.Error, "input/output error") || result.Permanent {
		t.Errorf("a disk that fails: %+v", result)
	}
}

// Anyone who restores it must know before servers are stopped.
func TestFetchForARestoreSaysWhetherALoginIsRequired(t *testing.T) {
	p := newPod(t)
	p.succeed(p.task(20), backup.CommandBackup)
	task := backup.Task{Kind: backup.Etcd, Folder: folder, Choose: &backup.Choice{AllowUnverified: true}}
	for _, required := range []bool{false, true} {
		p.requiresLogin = required
		if result := p.succeed(task, backup.CommandFetch); result.RequiresLogin != required {
			t.Errorf("%+v", result)
		}
	}
}

// What a run has just written, it can write again.
func TestACorruptBackupIsMadeAgain(t *testing.T) {
	p := newPod(t)
	p.succeed(p.task(20), backup.CommandBackup)
	p.replace(backup.DataName(backup.Etcd, item(20)), nil)
	if result := p.run(backup.CommandFetch, p.task(20)); !strings.Contains(result.Error, "has 0 bytes in the store") || result.Permanent {
		t.Errorf("%+v", result)
	}
}

func (p *pod) deleteObject(name string) {
	p.t.Helper()
	if err := p.store.Delete(p.t.Context(), folder+"/"+name); err != nil {
		p.t.Fatal(err)
	}
}

func TestFetchChooses(t *testing.T) {
	p := newPod(t)
	for _, day := range []int{17, 18} {
		p.succeed(p.task(day), all...)
	}
	p.succeed(p.task(19), backup.CommandBackup)
	for name, c := range map[string]struct {
		item   string
		choice *backup.Choice
		want   int
	}{
		"the latest verified":  {"", &backup.Choice{}, 18},
		"the latest":           {"", &backup.Choice{AllowUnverified: true}, 19},
		"before":               {"", &backup.Choice{Before: today.AddDate(0, 0, -2)}, 17},
		"a verified one":       {item(17), &backup.Choice{}, 17},
		"an unverified one":    {item(19), &backup.Choice{AllowUnverified: true}, 19},
		"the one of this task": {item(19), nil, 19},
	} {
		t.Run(name, func(t *testing.T) {
			task := backup.Task{Kind: backup.Etcd, Folder: folder, Item: c.item, Choose: c.choice, MaxVersion: "3.6.0"}
			result := p.succeed(task, backup.CommandFetch)
			if result.RawSize != int64(len(p.content)) {
				t.Errorf("fetched %d bytes, not %d", result.RawSize, len(p.content))
			}
			if result.Item.Name != item(c.want) || result.Item.Verified != (c.want < 19) {
				t.Errorf("%+v", result.Item)
			}
			content, err := os.ReadFile(p.scratchFile(backup.DataFile))
			m, broken := p.fetched()
			if err != nil || broken != nil || !bytes.Equal(content, p.content) || m.Item != item(c.want) {
				t.Errorf("%d bytes of %s, %v, %v", len(content), m.Item, err, broken)
			}
		})
	}
}

// A backup whose manifest names no source may be of any: a restore takes it and warns.
func TestAFetchReportsKeysWithATimeToLive(t *testing.T) {
	p := newPod(t)
	p.succeed(p.task(20), backup.CommandBackup)
	name := backup.ManifestName(backup.Etcd, item(20))
	p.replace(name, bytes.Replace(p.get(name), []byte(`"sourceUID"`), []byte(`"keys":10,"expires":3,"sourceUID"`), 1))
	fetch := backup.Task{Kind: backup.Etcd, Folder: folder, Choose: &backup.Choice{AllowUnverified: true}}
	if result := p.run(backup.CommandFetch, fetch); result.Keys != 10 || result.Expires != 3 {
		t.Errorf("%+v", result)
	}
}

func TestABackupOfNoKnownSourceIsAcceptedWithAWarning(t *testing.T) {
	p := newPod(t)
	p.succeed(p.task(20), backup.CommandBackup)
	fetch := backup.Task{Kind: backup.Etcd, Folder: folder, Choose: &backup.Choice{AllowUnverified: true}}
	if result := p.run(backup.CommandFetch, fetch); result.Error != "" || result.Warning != "" {
		t.Errorf("of a known source: %+v", result)
	}
	name := backup.ManifestName(backup.Etcd, item(20))
	p.replace(name, bytes.Replace(p.get(name), []byte(`"sourceUID":"uid"`), []byte(`"sourceUID":""`), 1))
	if result := p.run(backup.CommandFetch, fetch); result.Error != "" || result.Item == nil ||
		!strings.Contains(result.Warning, "names no source") {
		t.Errorf("of no known source: %+v", result)
	}
}
