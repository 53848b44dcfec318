package leadership

import (
	"errors"
	"net/http"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// errLapsed is the error of a write while another process may lead.
var errLapsed = errors.New("not sent: the lease was not renewed in time, another process may lead")

// NewClient makes the manager's client, which writes only while this process holds the lease.
func (l *Lease) NewClient(config *rest.Config, options client.Options) (client.Client, error) {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripperFunc(func(request *http.Request) (*http.Response, error) {
			if request.Method != http.MethodGet && request.Method != http.MethodHead && !l.Held() {
				return nil, errLapsed
			}
			return next.RoundTrip(request)
		})
	})
	options.HTTPClient = nil // client.New makes one from this config
	return client.New(config, options)
}

type roundTripperFunc func(*http.Request) (*http.Response, error)

func (r roundTripperFunc) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }
