package fault

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/test/authority"
)

// moods of an API server on a bad day, taken one write after the other: most are refused.
var moods = []int32{
	http.StatusConflict, http.StatusInternalServerError, http.StatusOK, http.StatusTooManyRequests,
	http.StatusInternalServerError, http.StatusConflict, http.StatusOK,
}

// RefuseWrites has the API server refuse most of one user's writes in one namespace, by
// a webhook at an address that the API server reaches.
func RefuseWrites(ctx context.Context, c client.Client, address, user, namespace string) (undo func() error, err error) {
	return reviewWrites(ctx, c, address, webhook("request.userInfo.username == '"+user+"'", namespace), moody())
}

// reviewWrites has the API server ask a handler about writes, as the webhook says, at an address that the API server reaches.
func reviewWrites(ctx context.Context, c client.Client, address string, hook *admissionregistrationv1.ValidatingWebhookConfiguration,
	answers http.Handler) (undo func() error, err error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		return nil, err
	}
	issuer := authority.New("webhook")
	pair := issuer.Issue("webhook", func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.ParseIP(address)} })
	certificate, err := tls.X509KeyPair(pair["tls.crt"], pair["tls.key"])
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	server := httptest.NewUnstartedServer(answers)
	_ = server.Listener.Close()
	server.Listener, server.TLS = listener, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	hook.Webhooks[0].ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: ptr.To(server.URL), CABundle: issuer.PEM()}
	if err := c.Create(ctx, hook); err != nil {
		server.Close()
		return nil, err
	}
	return func() error {
		defer server.Close() // after it: who is not asked refuses nothing
		return client.IgnoreNotFound(c.Delete(context.WithoutCancel(ctx), hook))
	}, nil
}

// webhook for the writes in a namespace that a CEL expression is true of.
func webhook(expression, namespace string) *admissionregistrationv1.ValidatingWebhookConfiguration {
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "mainstay-fault-"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:                    "refuse.mainstay-fault.test",
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace}},
			MatchConditions:         []admissionregistrationv1.MatchCondition{{Name: "writes", Expression: expression}},
			FailurePolicy:           ptr.To(admissionregistrationv1.Ignore), // of a test that was killed
			SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
			TimeoutSeconds:          ptr.To[int32](1),
			AdmissionReviewVersions: []string{"v1"},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{"", "apps", "cache.mainstay-operator.io"}, APIVersions: []string{"*"},
					Resources: []string{"redis", "redis/status", "services", "secrets", "statefulsets", "pods", "pods/status", "persistentvolumeclaims"},
				},
			}},
		}},
	}
}

// moody answers one review after the other as the moods have it.
func moody() http.Handler {
	var asked atomic.Int64
	return reviews(func(*admissionv1.AdmissionRequest) int32 { return moods[int(asked.Add(1)-1)%len(moods)] })
}

// reviews answers each review with the code that is given for its request.
func reviews(code func(*admissionv1.AdmissionRequest) int32) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
			http.Error(w, "no review", http.StatusBadRequest)
			return
		}
		code := code(review.Request)
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: code == http.StatusOK}
		if !review.Response.Allowed {
			review.Response.Result = &metav1.Status{Code: code, Reason: reasons[code], Message: "injected: " + http.StatusText(int(code))}
		}
		review.Request = nil
		_ = json.NewEncoder(w).Encode(review) // the client has gone
	})
}

var reasons = map[int32]metav1.StatusReason{
	http.StatusConflict:            metav1.StatusReasonConflict,
	http.StatusInternalServerError: metav1.StatusReasonInternalError,
	http.StatusTooManyRequests:     metav1.StatusReasonTooManyRequests,
}
