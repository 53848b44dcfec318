package fault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Write is one write of a program to its API server. What the program does between two of its writes shows nowhere; so it is stopped at
// a known place, however quick it is, only at a write.
type Write struct {
	Operation admissionv1.Operation
	// Resource, with its subresource.
	Resource string
	// Is reports whether the write makes of an object before what it is to be after, as JSON; nil for any.
	Is func(before, after []byte) bool
	// Others is of how many other objects there is such a write first.
	Others int
	// Refused is true if the write is not saved.
	Refused bool
}

// Saves is a save of an object's status that makes of it what is wanted.
func Saves[T any](resource string, is func(before, after *T) bool) Write {
	return Write{Operation: admissionv1.Update, Resource: resource + "/status", Is: func(before, after []byte) bool {
		var was, becomes T
		return json.Unmarshal(before, &was) == nil && json.Unmarshal(after, &becomes) == nil && is(&was, &becomes)
	}}
}

// Before is the same write, which is not saved.
func (w Write) Before() Write {
	w.Refused = true
	return w
}

// matcher reports for one request after the other whether it is the write.
func (w Write) matcher() func(*admissionv1.AdmissionRequest) bool {
	names := map[string]bool{}
	return func(request *admissionv1.AdmissionRequest) bool {
		resource := strings.TrimSuffix(request.Resource.Resource+"/"+request.SubResource, "/")
		if request.Operation != w.Operation || resource != w.Resource {
			return false
		}
		if w.Is != nil && !w.Is(request.OldObject.Raw, request.Object.Raw) {
			return false
		}
		names[request.Name] = true
		return len(names) > w.Others
	}
}

const (
	// strikeLimit is how long the API server waits for strike.
	strikeLimit = 10 * time.Second
	// askLimit is how long the API server may take to learn of the webhook.
	askLimit = time.Minute
)

// AtWrite has strike called once, when such a write of a user in a namespace reaches the API server, and before the API server saves or
// refuses it. A webhook at an address that the API server reaches waits for it. AtWrite returns once the API server asks the webhook, so
// no later write is missed. struck then gets the result of strike, which has 10 seconds.
func AtWrite(ctx context.Context, c client.Client, address, user, namespace string, w Write, strike func() error) (struck <-chan error,
	undo func() error, err error) {
	hook := webhook(fmt.Sprintf("request.userInfo.username == '%s' || has(request.dryRun) && request.dryRun", user), namespace)
	hook.Webhooks[0].TimeoutSeconds = ptr.To(int32(strikeLimit.Seconds()))
	hook.Webhooks[0].Rules[0].Rule = admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"},
		Resources: []string{"*/*"}, Scope: ptr.To(admissionregistrationv1.NamespacedScope)}
	asked, result := make(chan struct{}), make(chan error, 1)
	undo, err = reviewWrites(ctx, c, address, hook, w.answers(sync.OnceFunc(func() { close(asked) }), strike, result))
	if err != nil {
		return nil, nil, err
	}
	probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "mainstay-fault-"}}
	if err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, askLimit, true, func(ctx context.Context) (bool, error) {
		if err := c.Create(ctx, probe.DeepCopy(), client.DryRunAll); err != nil {
			return false, err
		}
		select {
		case <-asked:
			return true, nil
		default:
			return false, nil
		}
	}); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("the API server does not ask the webhook of namespace %s: %w", namespace, err), undo())
	}
	return result, undo, nil
}

// answers strikes once. A dry run is AtWrite's own: it shows that the API server asks.
func (w Write) answers(asked func(), strike func() error, result chan<- error) http.Handler {
	var mu sync.Mutex
	over, is := false, w.matcher()
	return reviews(func(request *admissionv1.AdmissionRequest) int32 {
		if ptr.Deref(request.DryRun, false) {
			asked()
			return http.StatusOK
		}
		mu.Lock()
		defer mu.Unlock()
		if over || !is(request) {
			return http.StatusOK
		}
		over = true
		result <- strike()
		if w.Refused {
			return http.StatusInternalServerError
		}
		return http.StatusOK
	})
}
