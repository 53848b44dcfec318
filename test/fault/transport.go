// Package fault stands between an operator and its API server: it writes down
// every call and, where asked, lets one go wrong.
package fault

import (
	"errors"
	"net/http"
	"strings"
	"sync"
)

// Call is one request by its identity, as RBAC and the audit log know it.
type Call struct {
	Verb        string // get, list, watch, create, update, patch, apply, delete
	Resource    string // with its subresource: memcacheds/status
	Namespace   string
	Name        string
	Selector    string // of labels, where many are asked for
	Bare        bool   // metadata alone is asked for
	Code        int    // HTTP status of the answer; 0 when there was none
	Invented    bool   // the answer is the Transport's, not the server's
	ContentType string
}

// ID distinguishes the calls of one run and finds them again in another.
func (c Call) ID() string { return c.Verb + " " + c.Resource + " " + c.Name }

// Writes is true for calls that change something.
func (c Call) Writes() bool {
	switch c.Verb {
	case "get", "list", "watch":
		return false
	}
	return true
}

// Event is true for calls that report something to users and change nothing.
func (c Call) Event() bool { return c.Resource == "events" }

// Decide returns the fault that is injected into a call. It runs for one call at a time.
type Decide func(Call) Fault

// Transport is the http.RoundTripper of one operator process.
type Transport struct {
	next   http.RoundTripper
	decide Decide

	mu      sync.Mutex
	calls   []Call
	crashed bool
	lag     lag
}

// errCrashed is what a dead process would see if it could.
var errCrashed = errors.New("fault: this process is dead")

// NewTransport passes everything on when decide is nil.
func NewTransport(decide Decide) *Transport { return &Transport{decide: decide} }

// Wrap is made for rest.Config.Wrap.
func (t *Transport) Wrap(next http.RoundTripper) http.RoundTripper {
	t.next = next
	return t
}

// RoundTrip passes the request on, or does to it what was decided.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	call := identify(request)
	fault := None
	t.mu.Lock()
	dead := t.crashed
	if !dead && t.decide != nil {
		fault = t.decide(call)
	}
	t.crashed = t.crashed || fault == CrashBefore
	t.mu.Unlock()
	if dead {
		return nil, errCrashed
	}

	response, err := fault.inject(request, t.next)
	t.lag.slow(call, request, response)
	call.Invented = fault != None
	if response != nil {
		call.Code = response.StatusCode
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.crashed = t.crashed || fault == CrashAfter
	t.calls = append(t.calls, call)
	return response, err
}

// Between runs f while no call is being decided on.
func (t *Transport) Between(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
}

// Crashed reports whether the process has crashed.
func (t *Transport) Crashed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.crashed
}

// Calls gives what was called so far, in the order of the answers.
func (t *Transport) Calls(keep func(Call) bool) []Call {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := []Call{}
	for _, c := range t.calls {
		if keep(c) {
			kept = append(kept, c)
		}
	}
	return kept
}

// Forget clears the record.
func (t *Transport) Forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls = nil
}

// identify reads a call off /api/v1/... and /apis/<group>/<version>/... paths.
func identify(request *http.Request) Call {
	call := Call{ContentType: request.Header.Get("Content-Type"), Selector: request.URL.Query().Get("labelSelector"),
		Bare: strings.Contains(request.Header.Get("Accept"), "as=PartialObjectMetadata")}
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		parts = parts[3:]
	default:
		call.Verb, call.Resource = "get", "discovery"
		return call
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		call.Namespace, parts = parts[1], parts[2:]
	}
	call.Resource = parts[0]
	if len(parts) > 1 {
		call.Name = parts[1]
	}
	if len(parts) > 2 {
		call.Resource += "/" + parts[2]
	}
	call.Verb = verb(request, call.Name)
	return call
}

func verb(request *http.Request, name string) string {
	switch request.Method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodDelete:
		return "delete"
	case http.MethodPatch:
		if strings.HasPrefix(request.Header.Get("Content-Type"), "application/apply-patch") {
			return "apply"
		}
		return "patch"
	}
	switch {
	case request.URL.Query().Get("watch") == "true":
		return "watch"
	case name == "":
		return "list"
	}
	return "get"
}
