package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/test/traffic"
)

// prover talks to what the samples have become.
type prover struct {
	client.Client
	// services reaches a Service's own address, nodePorts its node port, and way says how the latter is done.
	services, nodePorts traffic.Network
	way                 string
}

// prover uses the way into the cluster that there is from this machine.
func (d *demo) prover() (prover, error) {
	c, config, err := d.connect()
	if err != nil {
		return prover{}, err
	}
	if d.local {
		return prover{c, traffic.ByClusterIP(c), traffic.ByNodePort(c), "node port"}, nil
	}
	forwarded, err := traffic.Forwarded(config)
	return prover{c, forwarded, forwarded, "port-forward"}, err
}

// dialEtcd gives the status of an EtcdCluster, and a client of its Service.
func (p prover) dialEtcd(ctx context.Context, key client.ObjectKey) (databasev1alpha1.EtcdClusterStatus, *clientv3.Client, error) {
	var cluster databasev1alpha1.EtcdCluster
	if err := p.Get(ctx, key, &cluster); err != nil {
		return cluster.Status, nil, err
	}
	to, err := endpoint(key, cluster.Status.Endpoint)
	if err != nil {
		return cluster.Status, nil, err
	}
	etcd, err := traffic.Etcd(p.services, to, nil, "", "")
	return cluster.Status, etcd, err
}

// dialer makes a client of an address that a status shows.
type dialer func(address string) (*redis.Client, error)

// dialRedis gives the status of a Redis, and a way to reach the addresses that are in it.
func (p prover) dialRedis(ctx context.Context, key client.ObjectKey) (cachev1alpha1.RedisStatus, dialer, error) {
	var found cachev1alpha1.Redis
	if err := p.Get(ctx, key, &found); err != nil {
		return found.Status, nil, err
	}
	if found.Status.Binding == nil {
		return found.Status, nil, errors.New("it has no credentials yet")
	}
	var login corev1.Secret
	if err := p.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: found.Status.Binding.Name}, &login); err != nil {
		return found.Status, nil, err
	}
	return found.Status, func(address string) (*redis.Client, error) {
		to, err := endpoint(key, address)
		return traffic.Redis(p.services, to, string(login.Data["username"]), string(login.Data["password"])), err
	}, nil
}

// endpoint splits the host:port of a status; the host starts with the Service's name.
func endpoint(key client.ObjectKey, address string) (traffic.Service, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return traffic.Service{}, fmt.Errorf("status.endpoint: %w", err)
	}
	port, err := strconv.ParseInt(text, 10, 32)
	name, _, _ := strings.Cut(host, ".")
	return traffic.Service{Namespace: key.Namespace, Name: name, Port: int32(port)}, err
}
