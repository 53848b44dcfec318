package store

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// multipart is a server that takes an upload in parts, but for what a test has it refuse.
type multipart struct {
	refusePart, refuseComplete bool
	// lost: it makes the object, and the answer is lost.
	lost             bool
	parts, aborted   atomic.Int32
	completed, there atomic.Bool
}

func (m *multipart) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	query := r.URL.Query()
	switch {
	case r.Method == http.MethodHead && m.there.Load():
		startObject(w, partSize+1)
	case r.Method == http.MethodHead || r.Method == http.MethodGet:
		sayError(w, 404, "NoSuchKey", "")
	case query.Has("uploads"):
		_, _ = io.WriteString(w, "<InitiateMultipartUploadResult><UploadId>id</UploadId></InitiateMultipartUploadResult>")
	case r.Method == http.MethodPut:
		if m.parts.Add(1) > 1 && m.refusePart {
			sayError(w, 500, "InternalError", "the disk is broken")
			return
		}
		w.Header().Set("ETag", `"tag"`)
	case r.Method == http.MethodDelete:
		m.aborted.Add(1)
		w.WriteHeader(http.StatusNoContent)
	case m.refuseComplete:
		sayError(w, 400, "InvalidPart", "a part is gone")
	case m.lost && !m.there.Swap(true):
		sayError(w, 500, "InternalError", "come again")
	case m.lost:
		sayError(w, 404, "NoSuchUpload", "which one?")
	default:
		m.completed.Store(true)
		_, _ = io.WriteString(w, "<CompleteMultipartUploadResult><Bucket>bucket</Bucket><ETag>tag</ETag></CompleteMultipartUploadResult>")
	}
}

func TestAnUploadThatFailsIsAborted(t *testing.T) {
	for name, c := range map[string]struct {
		server *multipart
		want   string
	}{
		"a part is refused":       {&multipart{refusePart: true}, "InternalError: the disk is broken"},
		"the object is not made":  {&multipart{refuseComplete: true}, "InvalidPart: a part is gone"},
		"nothing fails":           {&multipart{}, ""},
		"only an answer was lost": {&multipart{lost: true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := faulty(t, never, c.server.ServeHTTP).Put(t.Context(), "n/b/x", bytes.NewReader(make([]byte, partSize+1)))
			if c.want == "" && (err != nil || c.server.aborted.Load() != 0) {
				t.Errorf("aborted %d times: %v", c.server.aborted.Load(), err)
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || c.server.aborted.Load() != 1) {
				t.Errorf("aborted %d times: %v", c.server.aborted.Load(), err)
			}
		})
	}
}

// A pod that is asked to end still takes its upload back.
func TestACancelledUploadIsAborted(t *testing.T) {
	server := &multipart{}
	s := faulty(t, never, server.ServeHTTP)
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Put(ctx, "n/b/x", &failingAfter{left: partSize + 5, fail: func() error { cancel(); return ctx.Err() }})
	if !errors.Is(err, context.Canceled) || server.aborted.Load() != 1 {
		t.Errorf("aborted %d times: %v", server.aborted.Load(), err)
	}
}
