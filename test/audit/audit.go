// Package audit counts requests where they arrive: in the API server's audit log.
package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// Request is one call of the API, as the server has seen it.
type Request struct {
	Verb            string
	Group, Resource string
	Namespace, Name string
	Code            int
	At              time.Time
	URI             string
	// Forbidden is true when the user lacks the right to it.
	Forbidden bool
	userAgent string
}

func (r Request) String() string {
	return fmt.Sprintf("%s %s %s -> %d (%s)", r.At.Format("15:04:05.000"), r.Verb, r.URI, r.Code, r.userAgent)
}

// GomegaString is how a failed expectation shows it.
func (r Request) GomegaString() string { return r.String() }

// Log is the file that the API server appends to.
type Log struct{ Path string }

// Position is a place in the log.
type Position int64

// Now is the log's present end.
func (l Log) Now() (Position, error) {
	info, err := os.Stat(l.Path)
	if err != nil {
		return 0, fmt.Errorf("the audit log: %w", err)
	}
	return Position(info.Size()), nil
}

// By gives the requests of a user that were answered after a position, and for a watch, which may continue for long, those that were
// started. The log of an hour has a million requests, most of them others': those are passed over unread.
func (l Log) By(user string, since Position) ([]Request, error) {
	file, err := os.Open(l.Path)
	if err != nil {
		return nil, fmt.Errorf("the audit log: %w", err)
	}
	defer file.Close() //nolint:errcheck // it is only read
	if info, err := file.Stat(); err != nil || info.Size() < int64(since) {
		return nil, fmt.Errorf("the audit log was rotated since the position was taken: %w", err)
	}
	if _, err := file.Seek(int64(since), io.SeekStart); err != nil {
		return nil, err
	}
	return parse(file, user)
}

// event is as much of audit.k8s.io/v1 Event as is looked at.
type event struct {
	Stage      string    `json:"stage"`
	Verb       string    `json:"verb"`
	RequestURI string    `json:"requestURI"`
	UserAgent  string    `json:"userAgent"`
	Received   time.Time `json:"requestReceivedTimestamp"`
	User       struct {
		Username string `json:"username"`
	} `json:"user"`
	Object struct {
		Group       string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	Response struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Annotations map[string]string `json:"annotations"`
}

// parse leaves an unfinished last line out: it is being written.
func parse(log io.Reader, user string) ([]Request, error) {
	name, err := json.Marshal(user)
	if err != nil {
		return nil, err
	}
	var requests []Request
	theirs := append([]byte(`"username":`), name...)
	for lines := bufio.NewReaderSize(log, 1<<20); ; {
		line, err := lines.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF):
			return requests, nil
		case err != nil:
			return nil, err
		case !bytes.Contains(line, theirs):
			continue
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("a line of the audit log: %w", err)
		}
		started := e.Stage == "ResponseStarted" && e.Verb == "watch"
		ended := e.Stage != "ResponseStarted" && e.Verb != "watch"
		if !started && !ended || e.User.Username != user {
			continue
		}
		requests = append(requests, Request{
			Verb: e.Verb, Group: e.Object.Group, Resource: resource(e.Object.Resource, e.Object.Subresource),
			Namespace: e.Object.Namespace, Name: e.Object.Name,
			Forbidden: e.Annotations["authorization.k8s.io/decision"] == "forbid",
			Code:      e.Response.Code, At: e.Received, URI: e.RequestURI, userAgent: e.UserAgent,
		})
	}
}

func resource(name, sub string) string { return strings.TrimSuffix(name+"/"+sub, "/") }

// Matching are the requests that a test is true for.
func Matching(requests []Request, test func(Request) bool) []Request {
	var matching []Request
	for _, r := range requests {
		if test(r) {
			matching = append(matching, r)
		}
	}
	return matching
}
