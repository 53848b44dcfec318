// Package traffic talks to what runs in a cluster as an application does: HTTP,
// memcached and Redis over real connections.
package traffic

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Service is a port of a Service, by its number.
type Service struct {
	Namespace, Name string
	Port            int32
}

func (s Service) String() string { return fmt.Sprintf("%s.%s:%d", s.Name, s.Namespace, s.Port) }

// Network opens connections to Services.
type Network interface {
	Dial(ctx context.Context, to Service) (net.Conn, error)
}

// networkFunc is a Network of one function.
type networkFunc func(context.Context, Service) (net.Conn, error)

func (n networkFunc) Dial(ctx context.Context, to Service) (net.Conn, error) { return n(ctx, to) }

// addressMaxAge is how long the address of a Service is used without another look at the Service: clients that dial for each
// request would ask the API server as often. A Service keeps its address as long as it exists.
const addressMaxAge = time.Second

// ByClusterIP dials a Service's own address: for a machine that is a node of
// the cluster, where kube-proxy translates it as it does for pods.
func ByClusterIP(reader client.Reader) Network {
	return &clusterIPs{reader: reader, clock: clock.RealClock{}, known: map[client.ObjectKey]clusterIP{}}
}

type clusterIPs struct {
	reader client.Reader
	clock  clock.PassiveClock

	mu    sync.Mutex
	known map[client.ObjectKey]clusterIP
}

type clusterIP struct {
	address string
	read    time.Time
}

func (c *clusterIPs) Dial(ctx context.Context, to Service) (net.Conn, error) {
	address, err := c.address(ctx, to)
	if err != nil {
		return nil, err
	}
	return dial(ctx, address, to.Port)
}

func (c *clusterIPs) address(ctx context.Context, of Service) (string, error) {
	key := client.ObjectKey{Namespace: of.Namespace, Name: of.Name}
	c.mu.Lock()
	known := c.known[key]
	c.mu.Unlock()
	if known.address != "" && c.clock.Since(known.read) < addressMaxAge {
		return known.address, nil
	}
	known.read = c.clock.Now() // before the Service is read
	var service corev1.Service
	if err := c.reader.Get(ctx, key, &service); err != nil {
		return "", err
	}
	known.address = service.Spec.ClusterIP
	if known.address == "" || known.address == corev1.ClusterIPNone {
		return "", fmt.Errorf("service %s has no address of its own", of)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[key] = known
	return known.address, nil
}

// At dials one address, whichever Service is asked for: as a client does that
// has looked it up.
func At(address string) Network {
	return networkFunc(func(ctx context.Context, to Service) (net.Conn, error) { return dial(ctx, address, to.Port) })
}

// ByNodePort dials the node port of a Service on a node's internal address.
func ByNodePort(reader client.Reader) Network {
	return networkFunc(func(ctx context.Context, to Service) (net.Conn, error) {
		address, port, err := findNodePort(ctx, reader, to)
		if err != nil {
			return nil, err
		}
		return dial(ctx, address, port)
	})
}

// AtNodePort dials the node port that a Service has now, without another look: as a client does that was given its address.
func AtNodePort(ctx context.Context, reader client.Reader, of Service) (Network, error) {
	address, port, err := findNodePort(ctx, reader, of)
	return networkFunc(func(ctx context.Context, _ Service) (net.Conn, error) { return dial(ctx, address, port) }), err
}

func findNodePort(ctx context.Context, reader client.Reader, of Service) (address string, port int32, err error) {
	var service corev1.Service
	if err := reader.Get(ctx, client.ObjectKey{Namespace: of.Namespace, Name: of.Name}, &service); err != nil {
		return "", 0, err
	}
	var nodes corev1.NodeList
	if err := reader.List(ctx, &nodes); err != nil {
		return "", 0, err
	}
	if port, err = nodePort(&service, of.Port); err != nil {
		return "", 0, err
	}
	address, err = nodeAddress(nodes.Items)
	return address, port, err
}

func dial(ctx context.Context, host string, port int32) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(int(port))))
}

// nodePort is the one that the cluster has given to a TCP port.
func nodePort(service *corev1.Service, port int32) (int32, error) {
	for _, p := range service.Spec.Ports {
		if p.Port == port && p.Protocol != corev1.ProtocolUDP && p.NodePort != 0 {
			return p.NodePort, nil
		}
	}
	return 0, fmt.Errorf("service %s/%s has no node port for port %d", service.Namespace, service.Name, port)
}

// nodeAddress is the internal address of the first node that has one.
func nodeAddress(nodes []corev1.Node) (string, error) {
	for _, node := range nodes {
		for _, a := range node.Status.Addresses {
			if a.Type == corev1.NodeInternalIP {
				return a.Address, nil
			}
		}
	}
	return "", errors.New("no node shows an internal address")
}
