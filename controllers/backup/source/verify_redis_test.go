package source

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mainstay-operator/mainstay-operator/controllers/backup/internal/rdb"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/test/hostile"
)

// writeDump writes a dump into a new directory.
func writeDump(t *testing.T, dump []byte) string {
	t.Helper()
	return filepath.Join(writeFiles(t, map[string][]byte{"data": dump}), "data")
}

func TestADumpIsStartedFrom(t *testing.T) {
	t.Parallel()
	master := startRedis(t, "--databases", "20")
	master.fill(100, 100)
	master.do("DEBUG", "SET-ACTIVE-EXPIRE", "0") // what no one asks for stays in the dump
	master.do("SET", "expiring", "value", "PX", "1")
	master.do("COPY", "key1", "key1", "DB", "19")
	file, meta := dumpTo(t, master.endpoint)
	if meta.Keys != 102 || meta.Expires != 51 {
		t.Fatalf("it shows %+v", meta)
	}
	dump, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damaged := append([]byte(nil), dump...)
	damaged[bytes.Index(damaged, []byte("expiring"))] ^= 1 // in a name: a length that is another breaks off the dump
	for _, c := range []struct {
		name     string
		dump     []byte
		manifest backup.Manifest
		want     string // in the error; "" for none
	}{
		{"whole", dump, manifestOf(meta), ""},
		{"cut off", dump[:len(dump)/2], manifestOf(meta), "the dump is truncated"},
		{"damaged", damaged, manifestOf(meta), "its checksum differs"},
		{"empty", nil, manifestOf(meta), "the dump is truncated"},
		{"of a later version", []byte("REDIS0099\xff\x00\x00\x00\x00\x00\x00\x00\x00"), backup.Manifest{}, "Can't handle RDB format version 99"},
		{"of a type that the server does not know", []byte("REDIS0010\xfe\x00\x7f\x01k\xff\x00\x00\x00\x00\x00\x00\x00\x00"), backup.Manifest{},
			"unknown type"},
		{"with less than the manifest says", dump, backup.Manifest{Keys: 103, Expires: 51},
			"the dump has 102 keys, 51 of them with a time to live, but its manifest says 103 and 51"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := VerifyRedis(t.Context(), writeDump(t, c.dump), shortDir(t), c.manifest)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v", err)
			}
		})
	}
	for name, c := range map[string]struct {
		dump  []byte
		keys  int64
		taken bool
	}{
		"whole": {dump, 102, true}, "cut off": {dump[:len(dump)/2], 102, false}, "damaged": {damaged, 102, false}, "empty": {nil, 0, false},
		"with less than the manifest says": {dump, 103, false},
		"of a manifest without counts":     {dump, rdb.Uncounted, true},
	} {
		if err := CheckRedis(writeDump(t, c.dump), backup.Manifest{Keys: c.keys, Expires: 51}); (err == nil) != c.taken {
			t.Errorf("one that is %s: %v", name, err)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := VerifyRedis(ended, file, shortDir(t), manifestOf(meta)); !errors.Is(err, context.Canceled) {
		t.Errorf("after its end: %v", err)
	}
	if err := VerifyRedis(t.Context(), filepath.Join(t.TempDir(), "none"), shortDir(t), manifestOf(meta)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a dump: %v", err)
	}
}

// A value that would make a server read beyond its end when a client asks for it is found by the verification.
func TestADumpWhoseValuesDeceiveIsRefused(t *testing.T) {
	t.Parallel()
	err := VerifyRedis(t.Context(), writeDump(t, hostile.DeceivingDump()), shortDir(t), backup.Manifest{Keys: 1})
	if err == nil || !strings.Contains(err.Error(), "rdb file reading failure") {
		t.Errorf("got %v", err)
	}
}

func TestKeysThatAServerSkips(t *testing.T) {
	for printed, want := range map[string]int64{
		"Done loading RDB, keys loaded: 5, keys expired: 1.":                        0,
		"Done loading RDB, keys loaded: 5, keys expired: 1, empty keys skipped: 3.": 3,
		"empty keys skipped: 99999999999999999999":                                  999999999999999999,
	} {
		if got := skippedEmpty(printed); got != want {
			t.Errorf("%q: got %d", printed, got)
		}
	}
}
