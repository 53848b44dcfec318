package fault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fault is one way in which a call goes wrong.
type Fault int

const (
	// None : the call goes its way.
	None Fault = iota
	// CrashBefore : the process dies before the server has heard of the call.
	CrashBefore
	// CrashAfter : the process dies after the server has carried the call out.
	CrashAfter
	// TimeoutBefore : no answer, and the server has done nothing.
	TimeoutBefore
	// TimeoutAfter : no answer, yet the server has carried the call out.
	TimeoutAfter
	// Forbidden : the server answers 403 and does nothing.
	Forbidden
	// Conflict : the server answers 409 and does nothing.
	Conflict
	// Invalid : the server answers 422 and does nothing.
	Invalid
	// TooMany : the server answers 429 and does nothing.
	TooMany
	// Internal : the server answers 500 and does nothing.
	Internal
)

var (
	// Lost are the faults after which the process does not know the outcome, or is dead.
	Lost = []Fault{CrashBefore, CrashAfter, TimeoutBefore, TimeoutAfter}
	// Refusals are the faults of which the server says that it has done nothing.
	Refusals = []Fault{Forbidden, Conflict, Invalid, TooMany, Internal}
	// All are all faults but None.
	All = append(append([]Fault{}, Lost...), Refusals...)
)

// Crash is true for a fault that the process does not outlive.
func (f Fault) Crash() bool { return f == CrashBefore || f == CrashAfter }

func (f Fault) String() string {
	return [...]string{"none", "crash before", "crash after", "timeout before", "timeout after", "403", "409", "422", "429", "500"}[f]
}

// inject carries the request out or not, and drops or replaces the reply.
func (f Fault) inject(request *http.Request, next http.RoundTripper) (*http.Response, error) {
	switch f {
	case None:
		return next.RoundTrip(request)
	case CrashBefore:
		return nil, errCrashed
	case TimeoutBefore:
		return nil, context.DeadlineExceeded
	case CrashAfter, TimeoutAfter:
		if err := lose(next.RoundTrip(request)); err != nil {
			return nil, err
		}
		return nil, context.DeadlineExceeded
	case Forbidden:
		return answer(request, http.StatusForbidden, metav1.StatusReasonForbidden)
	case Conflict:
		return answer(request, http.StatusConflict, metav1.StatusReasonConflict)
	case Invalid:
		return answer(request, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
	case TooMany:
		return answer(request, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests)
	case Internal:
		return answer(request, http.StatusInternalServerError, metav1.StatusReasonInternalError)
	}
	return nil, fmt.Errorf("fault: %d is not a Fault", f)
}

// lose waits for the server to be done, then drops its answer.
func lose(response *http.Response, err error) error {
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return errors.Join(err, response.Body.Close())
}

func answer(request *http.Request, code int, reason metav1.StatusReason) (*http.Response, error) {
	body, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, //nolint:gosec // an HTTP status
		Message: "injected: " + string(reason),
	})
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Request: request,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}, nil
}
