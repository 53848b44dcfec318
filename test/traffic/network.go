// Package traffic talks to what runs in a cluster as an application does: HTTP,
// memcached and Redis over real connections.
package traffic

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
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

// ByClusterIP dials a Service's own address: for a machine that is a node of
// the cluster, where kube-proxy translates it as it does for pods.
func ByClusterIP(reader client.Reader) Network {
	return networkFunc(func(ctx context.Context, to Service) (net.Conn, error) {
		var service corev1.Service
		if err := reader.Get(ctx, client.ObjectKey{Namespace: to.Namespace, Name: to.Name}, &service); err != nil {
			return nil, err
		}
		if ip := service.Spec.ClusterIP; ip == "" || ip == corev1.ClusterIPNone {
			return nil, fmt.Errorf("service %s has no address of its own", to)
		}
		return dial(ctx, service.Spec.ClusterIP, to.Port)
	})
}

// At dials one address, whichever Service is asked for: as a client does that
// has looked it up.
func At(address string) Network {
	return networkFunc(func(ctx context.Context, to Service) (net.Conn, error) { return dial(ctx, address, to.Port) })
}

// ByNodePort dials the node port of a Service on a node's internal address.
func ByNodePort(reader client.Reader) Network {
	return networkFunc(func(ctx context.Context, to Service) (net.Conn, error) {
		var service corev1.Service
		if err := reader.Get(ctx, client.ObjectKey{Namespace: to.Namespace, Name: to.Name}, &service); err != nil {
			return nil, err
		}
		port, err := nodePort(&service, to.Port)
		if err != nil {
			return nil, err
		}
		var nodes corev1.NodeList
		if err := reader.List(ctx, &nodes); err != nil {
			return nil, err
		}
		address, err := nodeAddress(nodes.Items)
		if err != nil {
			return nil, err
		}
		return dial(ctx, address, port)
	})
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
