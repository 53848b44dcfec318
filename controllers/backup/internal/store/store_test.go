package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

func put(t *testing.T, s Store, name string, content []byte) {
	t.Helper()
	// Readers do not fill buffers: those of a pipe from a compressor never do.
	start, end := bytes.NewReader(content[:len(content)/3]), bytes.NewReader(content[len(content)/3:])
	if err := s.Put(t.Context(), name, io.MultiReader(start, end)); err != nil {
		t.Fatal(err)
	}
}

// list gives the names in the folder n/b.
func list(t *testing.T, s Store) []string {
	t.Helper()
	var names []string
	for object, err := range s.List(t.Context(), "n/b") {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, object.Name)
	}
	slices.Sort(names)
	return names
}

func TestWhatIsPutComesBack(t *testing.T) {
	eachStore(t, func(t *testing.T, s kept) {
		for name, size := range map[string]int{
			"n/b/empty": 0, "n/b/byte": 1, "n/b/one part": partSize, "n/b/two parts": partSize + 1, "n/b/some": 2*partSize + 77,
		} {
			content := noise(size)
			put(t, s, name, content)
			if at, err := s.Stat(t.Context(), name); err != nil || at != int64(size) {
				t.Errorf("%s: %d bytes, %v", name, at, err)
			}
			back, length, err := s.Get(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			got := sha256.New()
			n, err := io.Copy(got, back)
			if want := sha256.Sum256(content); err != nil || n != length || n != int64(size) || !bytes.Equal(got.Sum(nil), want[:]) {
				t.Errorf("%s: %d of %d bytes came back: %v", name, n, length, err)
			}
			if err := back.Close(); err != nil {
				t.Error(err)
			}
		}
		if left := s.leftovers(t); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	})
}

// A listing says what an object is as it is, and when it was written.
func TestAListingHasSizesAndTimes(t *testing.T) {
	eachStore(t, func(t *testing.T, s kept) {
		put(t, s, "n/b/empty", nil)
		put(t, s, "n/b/some", noise(77))
		for object, err := range s.List(t.Context(), "n/b") {
			size := map[string]int64{"empty": 0, "some": 77}[object.Name]
			if age := time.Since(object.Modified).Abs(); err != nil || object.Size != size || age > time.Hour {
				t.Errorf("%+v is listed, %v", object, err)
			}
		}
	})
}

func TestNothingIsOverwritten(t *testing.T) {
	eachStore(t, func(t *testing.T, s kept) {
		put(t, s, "n/b/x", []byte("first"))
		if err := s.Put(t.Context(), "n/b/x", bytes.NewReader([]byte("second"))); !errors.Is(err, fs.ErrExist) || backup.IsPermanent(err) {
			t.Errorf("the second: %v", err)
		}
		back, _, err := s.Get(t.Context(), "n/b/x")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = back.Close() }()
		if content, err := io.ReadAll(back); string(content) != "first" || err != nil {
			t.Errorf("%q, %v", content, err)
		}
	})
}

func TestWhatIsMissing(t *testing.T) {
	eachStore(t, func(t *testing.T, s kept) {
		if _, err := s.Stat(t.Context(), "n/b/x"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Stat: %v", err)
		}
		if _, _, err := s.Get(t.Context(), "n/b/x"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Get: %v", err)
		}
		if err := s.Delete(t.Context(), "n/b/x"); err != nil {
			t.Errorf("Delete: %v", err)
		}
		if err := s.Abort(t.Context(), "n/b/x"); err != nil {
			t.Errorf("Abort: %v", err)
		}
		if names := list(t, s); names != nil {
			t.Errorf("List: %q", names)
		}
	})
}

func TestAFolderListsItsOwn(t *testing.T) {
	eachStore(t, func(t *testing.T, s kept) {
		for _, name := range []string{"n/b/x", "n/b/y", "n/b/deeper/z", "n/bb/other", "n/b.other"} {
			put(t, s, name, []byte(name))
		}
		s.start(t, "n/b/half")
		if names := list(t, s); !slices.Equal(names, []string{"x", "y"}) {
			t.Errorf("%q", names)
		}
		if err := s.Delete(t.Context(), "n/b/x"); err != nil {
			t.Fatal(err)
		}
		if names := list(t, s); !slices.Equal(names, []string{"y"}) {
			t.Errorf("after Delete: %q", names)
		}
	})
}

// failingAfter gives so many bytes and then fails, or has the context end.
type failingAfter struct {
	left int
	fail func() error
}

func (f *failingAfter) Read(b []byte) (int, error) {
	if f.left == 0 {
		return 0, f.fail()
	}
	n := min(len(b), f.left)
	f.left -= n
	return n, nil
}

func TestAWriteThatFailsLeavesNothing(t *testing.T) {
	broken := errors.New("the source has broken off")
	for what, size := range map[string]int{
		"in the first part": 100, "in the second part": partSize + 100, "at the end of a part": 2 * partSize,
	} {
		eachStore(t, func(t *testing.T, s kept) {
			for _, cause := range []error{broken, io.ErrUnexpectedEOF} {
				err := s.Put(t.Context(), "n/b/x", &failingAfter{left: size, fail: func() error { return cause }})
				if !errors.Is(err, cause) {
					t.Errorf("%s: %v", what, err)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			err := s.Put(ctx, "n/b/x", &failingAfter{left: size, fail: func() error { cancel(); return ctx.Err() }})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", what, err)
			}
			if names, left := list(t, s), s.leftovers(t); len(names)+len(left) > 0 {
				t.Errorf("%s: there are %q and %q", what, names, left)
			}
		})
	}
}

func TestAbortRemovesWhatAKilledWriteLeft(t *testing.T) {
	eachStore(t, func(t *testing.T, s kept) {
		s.start(t, "n/b/x")
		s.start(t, "n/b/x.other")
		if err := s.Abort(t.Context(), "n/b/x"); err != nil {
			t.Fatal(err)
		}
		if left := s.leftovers(t); len(left) != 1 || !strings.Contains(left[0], "x.other") {
			t.Errorf("left: %q", left)
		}
		put(t, s, "n/b/x", []byte("again"))
	})
}

func TestNamesStayWithin(t *testing.T) {
	eachStore(t, func(t *testing.T, s kept) {
		for _, name := range []string{"", ".", "..", "../x", "n/../../x", "/x", "n//x", "n/", "n/./x"} {
			_, _, get := s.Get(t.Context(), name)
			_, stat := s.Stat(t.Context(), name)
			put := s.Put(t.Context(), name, bytes.NewReader(nil))
			for _, err := range []error{put, get, stat, s.Delete(t.Context(), name), s.Abort(t.Context(), name)} {
				if err == nil || errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%q: %v", name, err)
				}
			}
		}
	})
}

func TestAListingIsBounded(t *testing.T) {
	count := 0
	for _, err := range bounded(func(yield func(backup.Object, error) bool) {
		for yield(backup.Object{Name: "x"}, nil) {
			continue
		}
	}, "n/b") {
		if count++; err != nil && count != MaxObjects+1 {
			t.Fatal(err)
		}
	}
	if count != MaxObjects+1 {
		t.Errorf("%d names", count)
	}
}

func TestAStoreIsEither(t *testing.T) {
	for _, spec := range []commonv1.BackupStore{{}, {S3: &commonv1.S3Store{}, Volume: &commonv1.VolumeStore{}}} {
		if _, err := Open(spec, Places{}); !backup.IsPermanent(err) {
			t.Errorf("%+v: %v", spec, err)
		}
	}
}
