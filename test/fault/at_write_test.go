package fault

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// A program is stopped once, at the write that is looked for, and every other write is saved.
func TestAtWrite(t *testing.T) {
	wanted := Write{Operation: admissionv1.Delete, Resource: "pods"}
	for name, w := range map[string]Write{"before the write": wanted.Before(), "after the write": wanted} {
		t.Run(name, func(t *testing.T) {
			asked, strikes, result := 0, 0, make(chan error, 1)
			broken := errors.New("the strike failed")
			handler := w.answers(func() { asked++ }, func() error { strikes++; return broken }, result)
			review := func(resource string, dryRun bool) bool {
				t.Helper()
				request := &admissionv1.AdmissionRequest{UID: "1", Operation: admissionv1.Delete, DryRun: ptr.To(dryRun)}
				request.Resource.Resource = resource
				return isAllowed(t, handler, request)
			}
			if !review("pods", true) || asked != 1 || strikes != 0 {
				t.Errorf("a dry run: asked %d times, struck %d times", asked, strikes)
			}
			if !review("services", false) || strikes != 0 {
				t.Errorf("another write: struck %d times", strikes)
			}
			if review("pods", false) == w.Refused || strikes != 1 {
				t.Errorf("the write: struck %d times, and it is refused: %t", strikes, !w.Refused)
			}
			if err := <-result; !errors.Is(err, broken) {
				t.Errorf("got %v", err)
			}
			if !review("pods", false) || strikes != 1 {
				t.Errorf("the same write again: struck %d times", strikes)
			}
		})
	}
}

// A write is found by what it does to which object, however often the program repeats another.
func TestWhichWrite(t *testing.T) {
	scaled := Saves("statefulsets", func(before, after *appsv1.StatefulSet) bool {
		return after.Status.Replicas > before.Status.Replicas
	})
	status := func(replicas int) runtime.RawExtension {
		return runtime.RawExtension{Raw: fmt.Appendf(nil, `{"status":{"replicas":%d}}`, replicas)}
	}
	request := func(operation admissionv1.Operation, resource, sub, name string) *admissionv1.AdmissionRequest {
		return &admissionv1.AdmissionRequest{Operation: operation, Resource: metav1.GroupVersionResource{Resource: resource}, SubResource: sub,
			Name: name, OldObject: status(1), Object: status(2)}
	}
	same := request(admissionv1.Update, "statefulsets", "status", "a")
	same.Object = status(1)
	unreadable := request(admissionv1.Update, "statefulsets", "status", "a")
	unreadable.Object.Raw = []byte("{")
	for name, c := range map[string]struct {
		write    Write
		requests []*admissionv1.AdmissionRequest
		want     []bool
	}{
		"a status": {scaled, []*admissionv1.AdmissionRequest{same, unreadable, request(admissionv1.Update, "statefulsets", "", "a"),
			request(admissionv1.Update, "statefulsets", "status", "a")}, []bool{false, false, false, true}},
		"an eviction": {Write{Operation: admissionv1.Create, Resource: "pods/eviction"}, []*admissionv1.AdmissionRequest{
			request(admissionv1.Create, "pods", "", "a"), request(admissionv1.Create, "pods", "eviction", "a")}, []bool{false, true}},
		"the second pod": {Write{Operation: admissionv1.Delete, Resource: "pods", Others: 1}, []*admissionv1.AdmissionRequest{
			request(admissionv1.Delete, "pods", "", "a"), request(admissionv1.Delete, "pods", "", "a"),
			request(admissionv1.Delete, "pods", "", "b")}, []bool{false, false, true}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []bool
			is := c.write.matcher()
			for _, request := range c.requests {
				got = append(got, is(request))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// isAllowed reports what the handler answers to the API server.
func isAllowed(t *testing.T, handler http.Handler, request *admissionv1.AdmissionRequest) bool {
	t.Helper()
	text, err := json.Marshal(admissionv1.AdmissionReview{Request: request})
	if err != nil {
		t.Fatal(err)
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(text)))
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(recorder.Body.Bytes(), &review); err != nil || review.Response == nil || review.Response.UID != request.UID {
		t.Fatalf("%s: %v", recorder.Body, err)
	}
	return review.Response.Allowed
}
