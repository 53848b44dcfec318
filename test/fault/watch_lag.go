package fault

import (
	"io"
	"net/http"
	"strings"
	"sync"
)

// lag holds back what the watches of some resources have to say.
type lag struct {
	mu   sync.Mutex
	held map[string]chan struct{} // by resource; closed when it is let go
}

// HoldWatches makes the caches of these resources lag from now on.
func (t *Transport) HoldWatches(resources ...string) {
	t.lag.mu.Lock()
	defer t.lag.mu.Unlock()
	if t.lag.held == nil {
		t.lag.held = map[string]chan struct{}{}
	}
	for _, r := range resources {
		t.lag.held[r] = make(chan struct{})
	}
}

// ReleaseWatches ends all lags.
func (t *Transport) ReleaseWatches() {
	t.lag.mu.Lock()
	defer t.lag.mu.Unlock()
	for _, gate := range t.lag.held {
		close(gate)
	}
	t.lag.held = nil
}

func (l *lag) gate(resource string) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held[strings.ToLower(resource)]
}

// laggingBody is the body of a watch that waits at the gate with what it has read.
type laggingBody struct {
	io.ReadCloser
	resource string
	lag      *lag
	done     <-chan struct{}
}

func (l *lag) slow(call Call, request *http.Request, response *http.Response) {
	if call.Verb == "watch" && response != nil {
		response.Body = &laggingBody{response.Body, call.Resource, l, request.Context().Done()}
	}
}

func (l *laggingBody) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	if gate := l.lag.gate(l.resource); gate != nil {
		select {
		case <-gate:
		case <-l.done:
		}
	}
	return n, err
}
