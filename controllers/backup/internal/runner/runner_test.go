package runner

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/backup/internal/store"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

func onS3(t *testing.T) *pod {
	t.Helper()
	server, err := started()
	if err != nil {
		t.Fatal(err)
	}
	return newPodOn(t, server.Store(filepath.Base(filepath.Dir(t.TempDir()))), store.Places{Secret: server.SecretDir, CA: server.CADir})
}

func TestABackupFromStartToEnd(t *testing.T) {
	for name, make := range map[string]func(*testing.T) *pod{"S3": onS3, "Volume": newPod} {
		for _, compression := range []commonv1.BackupCompression{commonv1.CompressGzip, commonv1.CompressNone} {
			t.Run(name+string(compression), func(t *testing.T) {
				p := make(t)
				task := p.task(20)
				task.Compression = compression
				result := p.succeed(task, all...)
				if !bytes.Equal(p.started, p.content) {
					t.Errorf("a server was started from %d bytes that are not the source's", len(p.started))
				}
				if got := p.objects(); !slices.Equal(got, verifiedItem(20)) {
					t.Errorf("%q", got)
				}
				data := p.get(backup.DataName(backup.Etcd, item(20)))
				sum := sha256.Sum256(data)
				want := commonv1.BackupItem{Name: item(20), Size: int64(len(data)), SHA256: hex.EncodeToString(sum[:]), Revision: 42,
					ServerVersion: "3.6.16", Verified: true}
				want.Time = result.Item.Time
				if *result.Item != want || !want.Time.Time.Equal(task.Time) || len(result.Items) != 1 || result.Items[0].Name != item(20) {
					t.Errorf("%+v", result)
				}
				var m backup.Manifest
				if err := json.Unmarshal(p.get(backup.ManifestName(backup.Etcd, item(20))), &m); err != nil || m.RawSize != int64(len(p.content)) ||
					m.SourceUID != "uid" || m.ClusterID != "abc" || m.Compression != string(compression) {
					t.Errorf("%+v, %v", m, err)
				}
			})
		}
	}
}

func TestAnItemIsNotWrittenTwice(t *testing.T) {
	for _, there := range verifiedItem(20) {
		t.Run(there[strings.LastIndex(there, "."):], func(t *testing.T) {
			p := newPod(t)
			p.replace(there, []byte("first"))
			result := p.run(backup.CommandBackup, p.task(20))
			if !strings.Contains(result.Error, there+" is in the store already") || result.Permanent {
				t.Errorf("%+v", result)
			}
			if got := p.objects(); !slices.Equal(got, []string{there}) || string(p.get(there)) != "first" {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestASourceThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		err       error
		permanent bool
	}{"for now": {errors.New("the link broke"), false}, "for good": {backup.Permanent(errors.New("the link broke")), true}} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			p.dumpError = c.err
			result := p.run(backup.CommandBackup, p.task(20))
			if !strings.Contains(result.Error, "reading the data of the source: ") || !strings.Contains(result.Error, "the link broke") ||
				result.Permanent != c.permanent {
				t.Errorf("%+v", result)
			}
			if got, left := p.objects(), scratchFiles(t, p); len(got)+len(left) != 0 {
				t.Errorf("there are %q and %q", got, left)
			}
		})
	}
}

// scratchFiles lists the files on the scratch volume.
func scratchFiles(t *testing.T, p *pod) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(p.Scratch)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestABackupThatIsNotVerified(t *testing.T) {
	p := newPod(t)
	p.verifyError = errors.New("the hash differs")
	p.succeed(p.task(20), backup.CommandBackup, backup.CommandFetch)
	if result := p.run(backup.CommandVerify, p.task(20)); !strings.Contains(result.Error, item(20)+": the hash differs") {
		t.Errorf("%+v", result)
	}
	if got := p.objects(); !slices.Equal(got, verifiedItem(20)[:2]) {
		t.Errorf("%q", got)
	}
}

// The next attempt takes the whole, but unverified backup of the one before away, once it has written its own.
func TestUnverifiedAttemptsDoNotPileUp(t *testing.T) {
	p := newPod(t)
	task := p.task(18)
	p.succeed(task, backup.CommandBackup)
	for day := 19; day < 21; day++ {
		next := p.task(day)
		next.Leftovers = append(task.Leftovers, task.Item)
		p.dumpError = errors.New("the link broke")
		p.run(backup.CommandBackup, next)
		if got := p.objects(); !slices.Equal(got, verifiedItem(day - 1)[:2]) {
			t.Errorf("before there is another: %q", got)
		}
		p.dumpError = nil
		p.succeed(next, backup.CommandBackup)
		if got := p.objects(); !slices.Equal(got, verifiedItem(day)[:2]) {
			t.Errorf("%q", got)
		}
		task = next
	}
}

func TestAFormerAttemptThatIsVerifiedStays(t *testing.T) {
	p := newPod(t)
	p.succeed(p.task(19), all...)
	next := p.task(20)
	next.Leftovers = []string{item(19), "../../x", item(20)}
	p.succeed(next, all...)
	if got := p.objects(); !slices.Equal(got, verifiedItem(19, 20)) {
		t.Errorf("%q", got)
	}
}

// A verdict is on the backup of the task.
func TestAVerdictIsOfOneItem(t *testing.T) {
	p := newPod(t)
	p.succeed(p.task(19), all...)
	p.succeed(p.task(20), backup.CommandBackup)
	if result := p.run(backup.CommandVerify, p.task(20)); !strings.Contains(result.Error, item(19)+" was fetched, and "+item(20)) {
		t.Errorf("%+v", result)
	}
}

func TestFinishAgainIsTheSame(t *testing.T) {
	p := newPod(t)
	first := p.succeed(p.task(20), all...)
	if again := p.succeed(p.task(20), backup.CommandFinish); *again.Item != *first.Item {
		t.Errorf("%+v, %+v", again, first)
	}
}

func TestInstall(t *testing.T) {
	p, dir := newPod(t), t.TempDir()
	if code := Main([]string{backup.CommandInstall, dir}, p.Environment); code != 0 {
		t.Fatal(code)
	}
	self, err := os.Stat("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Stat(dir + backup.Program)
	if err != nil || program.Size() != self.Size() || program.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", program, err)
	}
	if entries, err := os.ReadDir(dir); len(entries) != 1 || err != nil {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestWhatIsNoCommand(t *testing.T) {
	p := newPod(t)
	for name, args := range map[string][]string{
		"nothing": nil, "another": {"delete", "--task", "{}"}, "no task": {"backup"}, "no JSON": {"backup", "--task", "{"},
		"no kind": {"backup", "--task", "{}"}, "no source": {"backup", "--task", `{"kind":"etcd"}`},
		"no item": {"fetch", "--task", `{"kind":"etcd"}`},
	} {
		t.Run(name, func(t *testing.T) {
			if code := Main(args, p.Environment); code != 1 {
				t.Errorf("exit code %d", code)
			}
			if left, err := os.ReadFile(p.TerminationLog); err != nil || !strings.Contains(string(left), `"permanent":true`) {
				t.Errorf("%s, %v", left, err)
			}
		})
	}
}

func TestAResultFits(t *testing.T) {
	listed := commonv1.BackupItem{Name: item(20), SHA256: strings.Repeat("a", 64)}
	long := strings.Repeat("x\u00e4\n", 4000)
	for name, result := range map[string]backup.Result{
		"an error":             {Error: long, Permanent: true},
		"an error and warning": {Error: long, Warning: long, Item: &listed},
		"many items":           {Items: slices.Repeat([]commonv1.BackupItem{listed}, 20), Warning: long},
		"what JSON makes long": {Error: strings.Repeat("<", 4000), Warning: strings.Repeat("&", 4000)},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := fit(result)
			var back backup.Result
			if err != nil || len(text) > backup.MaxResult || json.Unmarshal(text, &back) != nil ||
				(back.Error == "") != (result.Error == "") || back.Permanent != result.Permanent || strings.Contains(back.Error, "\n") {
				t.Errorf("%d bytes: %s, %v", len(text), text, err)
			}
		})
	}
}
