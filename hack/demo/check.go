package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/mainstay-operator/mainstay-operator/api/app/v1"
	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/test/samples"
	"github.com/mainstay-operator/mainstay-operator/test/traffic"
)

const (
	// proofLimit is for kube-proxy to route to pods that have just become ready.
	proofLimit = 20 * time.Second
	// talkLimit bounds one attempt to talk to a server.
	talkLimit = 5 * time.Second

	proofKey = "mainstay-demo"
)

// checkSamples shows one line for each sample: real traffic to real processes.
func (d *demo) checkSamples(ctx context.Context) error {
	p, err := d.prover()
	if err != nil {
		return err
	}
	objects, err := samples.Read(d.samplesDir())
	if err != nil {
		return err
	}
	proofs := map[string]func(context.Context, client.ObjectKey) (string, error){
		"EasyService": p.web, "Memcached": p.cache, "Activity": p.command, "Redis": p.replication, "EtcdCluster": p.keys,
	}
	for _, obj := range objects {
		proof, known := proofs[obj.GetKind()]
		if !known {
			return fmt.Errorf("kind %s has a sample but no proof", obj.GetKind())
		}
		start, words := time.Now(), ""
		err := poll(ctx, proofLimit, func(ctx context.Context) (err error) {
			attempt, cancel := context.WithTimeout(ctx, talkLimit)
			defer cancel()
			words, err = proof(attempt, client.ObjectKey{Namespace: samplesNamespace, Name: obj.GetName()})
			return err
		})
		if err != nil {
			return fmt.Errorf("%s %s: %w", obj.GetKind(), obj.GetName(), err)
		}
		done(start, "%-11s  %-16s %s", obj.GetKind(), obj.GetName(), words)
	}
	return nil
}

// web asks for the root page, through the node port where there is one.
func (p prover) web(ctx context.Context, key client.ObjectKey) (string, error) {
	var service appv1.EasyService
	if err := p.Get(ctx, key, &service); err != nil {
		return "", err
	}
	if len(service.Spec.Ports) == 0 {
		return "", errors.New("it has no port")
	}
	to := traffic.Service{Namespace: key.Namespace, Name: key.Name, Port: service.Spec.Ports[0].Port}
	network, way := p.nodePorts, p.way
	if service.Spec.Service.Type == corev1.ServiceTypeClusterIP {
		network, way = p.services, "Service's address"
	}
	answer, err := traffic.Get(ctx, network, to, "/")
	if err == nil && answer.Code != http.StatusOK {
		err = fmt.Errorf("the server answers %s", answer.Status)
	}
	return fmt.Sprintf("GET / through the %s %s: %s", way, answer.From, answer.Status), err
}

// cache sets a value and reads it over one connection to the client Service.
func (p prover) cache(ctx context.Context, key client.ObjectKey) (string, error) {
	var cache cachev1alpha1.Memcached
	if err := p.Get(ctx, key, &cache); err != nil {
		return "", err
	}
	to, err := endpoint(key, cache.Status.Endpoint)
	if err != nil {
		return "", err
	}
	connection, err := traffic.DialMemcached(ctx, p.services, to)
	if err != nil {
		return "", err
	}
	defer connection.Close() //nolint:errcheck // the talk is over
	value := time.Now().Format(time.RFC3339Nano)
	if err := connection.Set(proofKey, value); err != nil {
		return "", err
	}
	read, _, err := connection.Get(proofKey)
	if err == nil && read != value {
		err = fmt.Errorf("the value read is %q, not the %q that was set", read, value)
	}
	return fmt.Sprintf("set and read %s=%s through %s", proofKey, read, cache.Status.Endpoint), err
}

// command reads how the command ended and what it printed.
func (p prover) command(ctx context.Context, key client.ObjectKey) (string, error) {
	var activity egov1.Activity
	if err := p.Get(ctx, key, &activity); err != nil {
		return "", err
	}
	if activity.Status.ExitCode == nil {
		return "", errors.New("it has no exit code yet")
	}
	return fmt.Sprintf("exit code %d, output %q", *activity.Status.ExitCode, strings.TrimSpace(activity.Status.OutputTail)), nil
}

// replication writes on the master and reads from the replicas.
func (p prover) replication(ctx context.Context, key client.ObjectKey) (string, error) {
	status, connect, err := p.dialRedis(ctx, key)
	if err != nil {
		return "", err
	}
	master, err := connect(status.Endpoint)
	if err != nil {
		return "", err
	}
	defer master.Close() //nolint:errcheck // the talk is over
	replicas, err := connect(status.ReadEndpoint)
	if err != nil {
		return "", err
	}
	defer replicas.Close() //nolint:errcheck // the talk is over
	value := time.Now().Format(time.RFC3339Nano)
	if err := master.Set(ctx, proofKey, value, 0).Err(); err != nil {
		return "", fmt.Errorf("writing on the master: %w", err)
	}
	err = poll(ctx, talkLimit, func(ctx context.Context) error {
		read, err := replicas.Get(ctx, proofKey).Result()
		if err == nil && read != value {
			err = fmt.Errorf("the replica still has %q", read)
		}
		return err
	})
	return fmt.Sprintf("wrote %s=%s on %s, read it from %s", proofKey, value, status.Endpoint, status.ReadEndpoint), err
}

// keys puts a key and gets it through the client Service.
func (p prover) keys(ctx context.Context, key client.ObjectKey) (string, error) {
	cluster, etcd, err := p.dialEtcd(ctx, key)
	if err != nil {
		return "", err
	}
	defer etcd.Close() //nolint:errcheck // the talk is over
	value := time.Now().Format(time.RFC3339Nano)
	put, err := etcd.Put(ctx, proofKey, value)
	if err != nil {
		return "", fmt.Errorf("putting a key: %w", err)
	}
	got, err := etcd.Get(ctx, proofKey)
	if err != nil {
		return "", fmt.Errorf("getting it: %w", err)
	}
	if len(got.Kvs) != 1 || string(got.Kvs[0].Value) != value {
		return "", fmt.Errorf("got %v, not the %q that was put", got.Kvs, value)
	}
	return fmt.Sprintf("put and got %s=%s through %s, revision %d, leader %s", proofKey, value, cluster.Endpoint, put.Header.Revision,
		cluster.Leader), nil
}
