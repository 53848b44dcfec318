package redis

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/node"
)

// credentials are read from our own Secrets, made where there are none, and
// then kept: the servers that run know no others.
func (r *Reconciler) credentials(ctx context.Context, redis *cachev1alpha1.Redis) (credentials, error) {
	own, err := r.ownSecret(ctx, redis, systemName(redis))
	if err != nil {
		return credentials{}, err
	}
	app, err := r.ownSecret(ctx, redis, bindingName(redis))
	if err != nil {
		return credentials{}, err
	}
	c := r.memory.settle(redis, credentials{
		application: string(app["password"]),
		operator:    string(own[node.Operator]),
		replication: string(own[replication]),
	})
	if redis.Spec.Auth != nil {
		c.application, err = r.chosenPassword(ctx, redis, redis.Spec.Auth.SecretName)
	}
	return c, err
}

// ownSecret reads from the cache. What it does not have of an object that was
// seen before, the server is asked for: a running set must not get new passwords
// because somebody took a label off its Secret.
func (r *Reconciler) ownSecret(ctx context.Context, redis *cachev1alpha1.Redis, name string) (map[string][]byte, error) {
	var secret corev1.Secret
	key := client.ObjectKey{Namespace: redis.Namespace, Name: name}
	err := r.Get(ctx, key, &secret)
	if apierrors.IsNotFound(err) && redis.Status.ObservedGeneration > 0 {
		err = r.Live.Get(ctx, key, &secret)
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading Secret %q: %w", name, err)
	case !metav1.IsControlledBy(&secret, redis):
		return nil, converge.NotOurs("Secret", &secret)
	}
	return secret.Data, nil
}

// chosenPassword reads a Secret of the user's once: it is not ours to watch.
func (r *Reconciler) chosenPassword(ctx context.Context, redis *cachev1alpha1.Redis, name string) (string, error) {
	if password, ok := r.memory.chosen(redis, name); ok {
		return password, nil
	}
	var secret corev1.Secret
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: redis.Namespace, Name: name}, &secret)
	switch password := string(secret.Data["password"]); {
	case apierrors.IsNotFound(err):
		return "", fmt.Errorf("auth.secretName: there is no Secret %q; create it with a key \"password\"", name)
	case err != nil:
		return "", fmt.Errorf("auth.secretName: reading Secret %q: %w", name, err)
	case password == "":
		return "", fmt.Errorf("auth.secretName: Secret %q has no key \"password\"", name)
	default:
		r.memory.choose(redis, name, password)
		return password, nil
	}
}
