// Package controllers wires every kind to a manager.
package controllers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/upgradeable"
)

// Options are what the kinds need to know besides the cluster.
type Options struct {
	// Images are the default images of objects that name none, and the operator's own.
	Images Images
	// Namespaces are those that the operator looks after; none means all.
	Namespaces []string
	// Account is the ServiceAccount that the manager runs as; empty if it does not run in a pod.
	Account types.NamespacedName
	// Condition names OLM's OperatorCondition of this operator; empty if OLM did not install it.
	Condition types.NamespacedName
	// IsLeader reports false once another manager may lead; nil if there is no other.
	IsLeader func() bool
	// Identity names this process; no other may ever have the same. It must not be empty.
	Identity string
}

// Images are the operator's default operand images.
type Images struct {
	Memcached, MemcachedExporter, Redis, Valkey, Activity string
	// Etcd are those of the newest patches of 3.5, 3.6 and 3.7, in this order. Other patches are other tags.
	Etcd [3]string
	// Operator is the operator's own image; empty when it is run by hand.
	Operator string
}

// ImagesFromEnv reads RELATED_IMAGE_*, which the bundle sets, and falls back to the defaults of this release.
func ImagesFromEnv() Images {
	return Images{
		Memcached:         cmp.Or(os.Getenv("RELATED_IMAGE_MEMCACHED"), "docker.io/library/memcached:1.6.38"),
		MemcachedExporter: cmp.Or(os.Getenv("RELATED_IMAGE_MEMCACHED_EXPORTER"), "quay.io/prometheus/memcached-exporter:v0.14.3"),
		Redis:             cmp.Or(os.Getenv("RELATED_IMAGE_REDIS"), "docker.io/library/redis:8.0"),
		Valkey:            cmp.Or(os.Getenv("RELATED_IMAGE_VALKEY"), "docker.io/valkey/valkey:8.1"),
		Activity:          cmp.Or(os.Getenv("RELATED_IMAGE_ACTIVITY"), "docker.io/library/busybox:1.37"),
		Etcd: [3]string{
			cmp.Or(os.Getenv("RELATED_IMAGE_ETCD_3_5"), "quay.io/coreos/etcd:v3.5.35"),
			cmp.Or(os.Getenv("RELATED_IMAGE_ETCD_3_6"), "quay.io/coreos/etcd:v3.6.16"),
			cmp.Or(os.Getenv("RELATED_IMAGE_ETCD_3_7"), "quay.io/coreos/etcd:v3.7.3"),
		},
		Operator: os.Getenv("RELATED_IMAGE_OPERATOR"),
	}
}

// SetupAll adds every kind to the manager, and the controller that asks OLM to hold upgrades.
func SetupAll(ctx context.Context, mgr ctrl.Manager, o Options) error {
	if o.Identity == "" {
		return errors.New("Options.Identity must name this process: that distinguishes what it writes from what others write")
	}
	mgr.GetLogger().Info("watching", "namespaces", cmp.Or(strings.Join(o.Namespaces, ","), "all"))
	tracker := &converge.ReconcileTracker{Clock: clock.RealClock{}}
	if err := addHealthChecks(ctx, mgr, o.Namespaces, tracker); err != nil {
		return err
	}
	stuck, err := newStuckWatcher(mgr, o.Account.Namespace, tracker)
	if err != nil {
		return err
	}
	var owned []client.Object
	for _, k := range kinds {
		owned = append(owned, k.owned...)
	}
	if err := converge.IndexOwners(ctx, mgr.GetFieldIndexer(), mgr.GetScheme(), owned...); err != nil {
		return err
	}
	if err := converge.IndexInstances(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	optionalAPIs, err := newOptionalAPIs(mgr, o.Namespaces)
	if err != nil {
		return err
	}
	cached := converge.WithTrimmedRead(converge.WithInstanceIndex(mgr.GetClient()), mgr.GetAPIReader())
	converger := func(name string) converge.Converger {
		return converge.Converger{
			Client: cached, APIReader: mgr.GetAPIReader(), OptionalAPIs: optionalAPIs,
			IsLeader: o.IsLeader, Identity: o.Identity, Account: o.Account, Tracker: tracker, Stuck: stuck, Events: mgr.GetEventRecorder(name),
		}
	}
	cluster, err := clusterIdentity(mgr.GetConfig())
	if err != nil {
		return err
	}
	all := shared{converger, converge.NewSecretReader(mgr.GetCache(), mgr.GetAPIReader()),
		converge.NewConfigMapReader(mgr.GetCache(), mgr.GetAPIReader()),
		o.Images, cluster}
	for _, k := range kinds {
		if err := k.newReconciler(all).SetupWithManager(mgr); err != nil {
			return fmt.Errorf("setting up %T: %w", k.object, err)
		}
	}
	return setupUpgradeable(mgr, o.Condition, tracker)
}

// setupUpgradeable adds the controller that holds upgrades, if OLM installed this operator.
func setupUpgradeable(mgr ctrl.Manager, condition types.NamespacedName, tracker *converge.ReconcileTracker) error {
	if condition.Name == "" {
		mgr.GetLogger().Info("no upgrade is held: OPERATOR_CONDITION_NAME, which OLM sets, is not set")
		return nil
	}
	holding := &upgradeable.Reconciler{Client: mgr.GetClient(), APIReader: mgr.GetAPIReader(), Condition: condition, Tracker: tracker,
		Clock: clock.RealClock{}}
	if err := holding.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("setting up what holds upgrades: %w", err)
	}
	return nil
}
