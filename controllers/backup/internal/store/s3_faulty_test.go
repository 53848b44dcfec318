package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
)

// plainServer speaks HTTP at an address that says HTTPS.
func plainServer(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	return strings.Replace(server.URL, "http:", "https:", 1)
}

// For how long a store may stand still: where it does not, where it does at once, and where it does after it has started to answer.
const (
	never = time.Minute
	soon  = 100 * time.Millisecond
	later = 10 * time.Second
)

// faulty opens a bucket whose server answers as the test says.
func faulty(t *testing.T, stall time.Duration, answer http.HandlerFunc) *s3Store {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	s, err := openS3(commonv1.S3Store{Bucket: "bucket", Endpoint: server.URL, SecretName: "any"},
		Places{Secret: folder(t, map[string]string{
			"accessKeyID": "key", "secretAccessKey": "hidden-secret", "sessionToken": "hidden-token",
		})}, stall)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sayError answers as S3 does.
func sayError(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", code, message)
}

// startObject answers with an object of that size.
func startObject(w http.ResponseWriter, size int) {
	w.Header().Set("Content-Length", fmt.Sprint(size))
	w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
}

// untilGone keeps a request until its client has gone.
func untilGone(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func TestAStoreThatStandsStill(t *testing.T) {
	s := faulty(t, soon, untilGone)
	for name, do := range map[string]func() error{
		"Get":    func() error { _, _, err := s.Get(t.Context(), "n/b/x"); return err },
		"Put":    func() error { return s.Put(t.Context(), "n/b/x", strings.NewReader("x")) },
		"Delete": func() error { return s.Delete(t.Context(), "n/b/x") },
		"Abort":  func() error { return s.Abort(t.Context(), "n/b/x") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := do(); err == nil || backup.IsPermanent(err) || !strings.Contains(err.Error(), "the store did not answer in time") {
				t.Error(err)
			}
		})
	}
}

func TestAnObjectThatStandsStill(t *testing.T) {
	t.Parallel()
	s := faulty(t, later, func(w http.ResponseWriter, r *http.Request) {
		startObject(w, 1000)
		_, _ = w.Write([]byte("some"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	content, size, err := s.Get(t.Context(), "n/b/x")
	if err != nil || size != 1000 {
		t.Fatal(size, err)
	}
	defer func() { _ = content.Close() }()
	if text, err := io.ReadAll(content); string(text) != "some" || err == nil || !strings.Contains(err.Error(), "did not answer in time") {
		t.Errorf("%q, %v", text, err)
	}
}

// deadlines is a connection that notes its deadlines.
type deadlines struct {
	net.Conn
	noted []time.Time
}

func (d *deadlines) SetDeadline(at time.Time) error { d.noted = append(d.noted, at); return nil }
func (d *deadlines) Read(b []byte) (int, error)     { return len(b), nil }
func (d *deadlines) Write(b []byte) (int, error)    { return len(b), nil }

// A slow store is not one that stands still: each step may take as long as the limit.
func TestEachStepHasItsTime(t *testing.T) {
	started := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	clock, recorded := clocktesting.NewFakePassiveClock(started), &deadlines{}
	connection := &movingConn{Conn: recorded, limit: time.Minute, clock: clock}
	var want []time.Time
	for i, step := range []func([]byte) (int, error){connection.Read, connection.Write, connection.Read} {
		now := started.Add(time.Duration(i) * 59 * time.Second)
		clock.SetTime(now)
		if _, err := step(nil); err != nil {
			t.Fatal(err)
		}
		want = append(want, now.Add(time.Minute))
	}
	if !slices.Equal(recorded.noted, want) {
		t.Errorf("%v, want %v", recorded.noted, want)
	}
}

func TestATruncatedObject(t *testing.T) {
	s := faulty(t, never, func(w http.ResponseWriter, _ *http.Request) {
		startObject(w, 1000)
		_, _ = w.Write([]byte("some"))
	})
	content, _, err := s.Get(t.Context(), "n/b/x")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = content.Close() }()
	if text, err := io.ReadAll(content); string(text) != "some" || !errors.Is(err, io.ErrUnexpectedEOF) || backup.IsPermanent(err) {
		t.Errorf("%q, %v", text, err)
	}
}

func TestWordsOfAStore(t *testing.T) {
	for name, c := range map[string]struct {
		status        int
		code, message string
		want          string
		permanent     bool
	}{
		"denied":          {403, "AccessDenied", "not for you", "AccessDenied: not for you", true},
		"expired":         {400, "RequestTimeTooSkewed", "look at your clock", "RequestTimeTooSkewed: look at your clock", false},
		"busy":            {503, "SlowDown", "later", "SlowDown: later", false},
		"full":            {507, "XMinioStorageFull", "no space", "XMinioStorageFull: no space", false},
		"several lines":   {400, "Odd", "one\ntwo", "Odd: one?two", false},
		"a secret":        {403, "AccessDenied", "you sent hidden-token and hidden-secret", "you sent ... and ...", true},
		"endless":         {400, "Odd", strings.Repeat("x", 1<<20), "400 Bad Request: ", false},
		"no words at all": {403, "", "", "AccessDenied", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := faulty(t, never, func(w http.ResponseWriter, _ *http.Request) {
				if c.code == "" {
					w.WriteHeader(c.status)
					return
				}
				sayError(w, c.status, c.code, c.message)
			})
			_, _, err := s.Get(t.Context(), "n/b/x")
			if err == nil || !strings.Contains(err.Error(), c.want) || backup.IsPermanent(err) != c.permanent {
				t.Errorf("permanent %v: %v", backup.IsPermanent(err), err)
			}
			if err != nil && (strings.Contains(err.Error(), "hidden") || strings.ContainsAny(err.Error(), "\n\x1b") || len(err.Error()) > 400) {
				t.Errorf("%q", err.Error())
			}
		})
	}
}

func TestAnEndlessListingIsCut(t *testing.T) {
	s := faulty(t, never, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>more</NextContinuationToken>")
		for range 1000 {
			_, _ = io.WriteString(w, "<Contents><Key>n/b/x</Key></Contents>")
		}
		_, _ = io.WriteString(w, "</ListBucketResult>")
	})
	count, last := 0, error(nil)
	for _, err := range s.List(t.Context(), "n/b") {
		count, last = count+1, err
	}
	if count != MaxObjects+1 || last == nil || !strings.Contains(last.Error(), "n/b has more than 100000 objects") {
		t.Errorf("%d names: %v", count, last)
	}
}

func TestAListingThatIsCancelledSaysSo(t *testing.T) {
	s := faulty(t, never, func(http.ResponseWriter, *http.Request) {})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range s.List(ctx, "n/b") {
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		return
	}
	t.Error("it says that there is nothing")
}

// An answer that is no object's content does not fill the memory.
func TestALongAnswerIsCut(t *testing.T) {
	s := faulty(t, never, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "<InitiateMultipartUploadResult><UploadId>")
		for range 2 * maxAnswer / 1024 {
			if _, err := w.Write(bytes.Repeat([]byte("x"), 1024)); err != nil {
				return
			}
		}
		_, _ = io.WriteString(w, "</UploadId></InitiateMultipartUploadResult>")
	})
	if _, err := s.client.NewMultipartUpload(t.Context(), "bucket", "x", minioOptions); err == nil {
		t.Error("all of it was read")
	}
}
