package redis

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/children"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/topology"
)

func TestUnchanged(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := cachev1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	stored := &cachev1alpha1.Redis{}
	stored.Namespace, stored.Name, stored.UID, stored.ResourceVersion = "ns", "a", "one", "7"
	r := &Reconciler{}
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(stored).Build()
	r.Client, r.APIReader = api, api

	for reason, change := range map[string]func(*cachev1alpha1.Redis){
		"it was written since":      func(r *cachev1alpha1.Redis) { r.ResourceVersion = "6" },
		"it is another of the name": func(r *cachev1alpha1.Redis) { r.UID = "another" },
	} {
		p := r.newPass(stored.DeepCopy(), nil)
		if err := p.effects.CheckUnchanged(t.Context()); err != nil {
			t.Errorf("it is the same: %v", err)
		}
		if change(p.Redis); !apierrors.IsConflict(p.effects.CheckUnchanged(t.Context())) {
			t.Errorf("%s: %v", reason, p.effects.CheckUnchanged(t.Context()))
		}
	}
	p := r.newPass(stored.DeepCopy(), nil)
	p.Redis.Name = "b"
	if err := p.effects.CheckUnchanged(t.Context()); !apierrors.IsConflict(err) {
		t.Errorf("it is gone: %v", err)
	}
}

// An act that changes nothing of the record is one of the operator that leads, or none.
func TestASaveThatWritesNothingAsks(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(cachev1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	redis := &cachev1alpha1.Redis{}
	redis.Namespace, redis.Name = "ns", "a"
	for name, row := range map[string]struct {
		version, written string
		stale            bool
	}{
		"nothing to write, and no one else wrote": {"999", "999", false},
		"nothing to write, and another has":       {"998", "998", true},
		"written":                                 {"999", "1000", false},
	} {
		t.Run(name, func(t *testing.T) {
			seen := redis.DeepCopy()
			p := (&Reconciler{}).newPass(seen, func(context.Context) error { seen.ResourceVersion = row.written; return nil })
			api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(redis.DeepCopy()).Build()
			p.Client, p.APIReader = api, api
			p.Redis.ResourceVersion = row.version
			if err := p.effects.Save(t.Context()); apierrors.IsConflict(err) != row.stale || !row.stale && err != nil {
				t.Error(err)
			}
		})
	}
}

// A promotion goes by the stamps where no process is left.
func TestUnchangedStamps(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(cachev1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	redis := &cachev1alpha1.Redis{Spec: cachev1alpha1.RedisSpec{Size: ptr.To[int32](1), Storage: &cachev1alpha1.RedisStorage{}}}
	redis.Namespace, redis.Name = "ns", "a"
	newest := topology.Stamp{Epoch: 7, ReplID: "h"}
	stored := &corev1.PersistentVolumeClaim{}
	stored.Namespace, stored.Name, stored.UID, stored.Labels = "ns", children.DataVolume+"-a-0", "one", parts.Labels(config.AppName, "a")
	stored.Annotations = newest.Annotations()
	live := fake.NewClientBuilder().WithScheme(scheme).WithObjects(redis, stored).Build()
	recreated := stored.DeepCopy()
	recreated.UID = "another"

	for name, row := range map[string]struct {
		seen   map[string]topology.Volume
		behind bool
	}{
		"the same":        {map[string]topology.Volume{"a-0": {Stamp: newest, Claim: stored}}, false},
		"stamped since":   {map[string]topology.Volume{"a-0": {Stamp: topology.Stamp{Epoch: 6, ReplID: "h"}, Claim: stored}}, true},
		"recreated since": {map[string]topology.Volume{"a-0": {Stamp: newest, Claim: recreated}}, true},
		"made since":      {nil, true},
		"deleted since":   {map[string]topology.Volume{"a-0": {Stamp: newest, Claim: stored}, "a-1": {Stamp: newest, Claim: stored}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := (&Reconciler{}).newPass(redis.DeepCopy(), nil)
			p.Volumes = row.seen
			p.APIReader = live
			if err := p.effects.CheckStamps(t.Context()); apierrors.IsConflict(err) != row.behind || !row.behind && err != nil {
				t.Error(err)
			}
		})
	}
}
