package main

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const restoreKey = "mainstay-demo-restore"

func (p prover) putKey(ctx context.Context, key client.ObjectKey, value string) error {
	_, etcd, err := p.dialEtcd(ctx, key)
	if err != nil {
		return err
	}
	defer etcd.Close() //nolint:errcheck // the talk is over
	_, err = etcd.Put(ctx, restoreKey, value)
	return err
}

// getKey is empty where there is no such key.
func (p prover) getKey(ctx context.Context, key client.ObjectKey) (string, error) {
	_, etcd, err := p.dialEtcd(ctx, key)
	if err != nil {
		return "", err
	}
	defer etcd.Close() //nolint:errcheck // the talk is over
	got, err := etcd.Get(ctx, restoreKey)
	if err != nil || len(got.Kvs) == 0 {
		return "", err
	}
	return string(got.Kvs[0].Value), nil
}

// setKey has a replica confirm the write: what is confirmed is in the next backup.
func (p prover) setKey(ctx context.Context, key client.ObjectKey, value string) error {
	master, err := p.dialMaster(ctx, key)
	if err != nil {
		return err
	}
	defer master.Close()        //nolint:errcheck // the talk is over
	connection := master.Conn() // WAIT speaks of the writes of its own connection
	defer connection.Close()    //nolint:errcheck // the talk is over
	if err := connection.Set(ctx, restoreKey, value, 0).Err(); err != nil {
		return err
	}
	confirmed, err := connection.Wait(ctx, 1, talkLimit/2).Result()
	if err == nil && confirmed == 0 {
		err = errors.New("no replica confirms the write")
	}
	return err
}

// readKey is empty where there is no such key.
func (p prover) readKey(ctx context.Context, key client.ObjectKey) (string, error) {
	master, err := p.dialMaster(ctx, key)
	if err != nil {
		return "", err
	}
	defer master.Close() //nolint:errcheck // the talk is over
	value, err := master.Get(ctx, restoreKey).Result()
	if errors.Is(err, redis.Nil) {
		err = nil
	}
	return value, err
}

func (p prover) dialMaster(ctx context.Context, key client.ObjectKey) (*redis.Client, error) {
	status, connect, err := p.dialRedis(ctx, key)
	if err != nil {
		return nil, err
	}
	return connect(status.Endpoint)
}
