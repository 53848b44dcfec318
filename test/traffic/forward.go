package traffic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
)

// Forwarded reaches a ready pod of a Service through the API server, from
// wherever the API server can be reached.
func Forwarded(config *rest.Config) (Network, error) {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return networkFunc(func(ctx context.Context, to Service) (net.Conn, error) {
		pod, port, err := backend(ctx, clients, to)
		if err != nil {
			return nil, err
		}
		url := clients.CoreV1().RESTClient().Post().
			Resource("pods").Namespace(to.Namespace).Name(pod).SubResource("portforward").URL()
		transport, upgrader, err := spdy.RoundTripperFor(config)
		if err != nil {
			return nil, err
		}
		dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, url)
		stop, ready := make(chan struct{}), make(chan struct{})
		forwarder, err := portforward.New(dialer, []string{fmt.Sprintf(":%d", port)}, stop, ready, io.Discard, io.Discard)
		if err != nil {
			return nil, err
		}
		return through(ctx, forwarder, stop, ready)
	}), nil
}

// through starts a forwarder for the one connection that it returns, and that
// ends it when closed.
func through(ctx context.Context, forwarder *portforward.PortForwarder, stop, ready chan struct{}) (net.Conn, error) {
	failed := make(chan error, 1)
	go func() { failed <- forwarder.ForwardPorts() }()
	end := sync.OnceFunc(func() { close(stop) })
	select {
	case <-ctx.Done():
		end()
		return nil, ctx.Err()
	case err := <-failed:
		return nil, errors.Join(errors.New("the port-forward ended at once"), err)
	case <-ready:
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		end()
		return nil, err
	}
	conn, err := dial(ctx, "localhost", int32(ports[0].Local))
	if err != nil {
		end()
		return nil, err
	}
	return forwarded{Conn: conn, end: end}, nil
}

// forwarded takes its forwarder along when it is closed.
type forwarded struct {
	net.Conn
	end func()
}

func (f forwarded) Close() error {
	defer f.end()
	return f.Conn.Close()
}

// backend is a ready pod behind a Service, and its own port.
func backend(ctx context.Context, clients kubernetes.Interface, to Service) (pod string, port int32, err error) {
	service, err := clients.CoreV1().Services(to.Namespace).Get(ctx, to.Name, metav1.GetOptions{})
	if err != nil {
		return "", 0, err
	}
	slices, err := clients.DiscoveryV1().EndpointSlices(to.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: discoveryv1.LabelServiceName + "=" + to.Name,
	})
	if err != nil {
		return "", 0, err
	}
	return choose(service, slices.Items, to)
}

// choose finds the Service's port in its endpoint slices by name, as kube-proxy does.
func choose(service *corev1.Service, slices []discoveryv1.EndpointSlice, to Service) (pod string, port int32, err error) {
	name, known := "", false
	for _, p := range service.Spec.Ports {
		if p.Port == to.Port && p.Protocol != corev1.ProtocolUDP {
			name, known = p.Name, true
		}
	}
	if !known {
		return "", 0, fmt.Errorf("service %s has no such TCP port", to)
	}
	for _, slice := range slices {
		for _, p := range slice.Ports {
			if p.Port == nil || p.Name == nil || *p.Name != name {
				continue
			}
			for _, e := range slice.Endpoints {
				if e.TargetRef != nil && e.Conditions.Ready != nil && *e.Conditions.Ready {
					return e.TargetRef.Name, *p.Port, nil
				}
			}
		}
	}
	return "", 0, fmt.Errorf("service %s has no ready endpoint", to)
}
