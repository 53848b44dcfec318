package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/hack/internal/wait"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

const (
	etcdSample, redisSample = "sample-etcd", "sample-redis"
	// etcdBackup and redisBackup name a backup and the claim that it is on. Each has a claim of its own: their pods may be on
	// different nodes.
	etcdBackup, redisBackup     = "demo-etcd", "demo-redis"
	etcdRestored, redisRestored = "demo-etcd-again", "demo-redis-again"

	// restoreLabel is on all that this step makes: it is removed in the end, and what a failed run has left before the next one.
	restoreLabel = "mainstay-operator.io/demo-restore"
	// claims are what the backups are on.
	claims = "persistentvolumeclaims"
)

// restoreKinds are those of what this step makes. They are not named by their category: kubectl may remember one without the newest.
var restoreKinds = []string{
	"etcdrestores.database.mainstay-operator.io", "etcdclusters.database.mainstay-operator.io", "redis.cache.mainstay-operator.io",
	"etcdbackups.database.mainstay-operator.io", "redisbackups.cache.mainstay-operator.io", claims,
}

// restored is an object made from a backup of a sample, and how one key of either is written and read.
type restored struct {
	kind, sample, name string

	write func(ctx context.Context, key client.ObjectKey, value string) error
	read  func(context.Context, client.ObjectKey) (string, error)
}

// checkRestore shows that a backup brings back what was written before it, and nothing else: in a new object of either kind, and
// in the place of the data of an EtcdCluster. The samples keep their data.
func (d *demo) checkRestore(ctx context.Context) error {
	p, err := d.prover()
	if err != nil {
		return err
	}
	if err := d.removeRestored(ctx, restoreKinds...); err != nil {
		return err
	}
	ofEtcd := commonv1.BackupReference{Name: etcdBackup, Store: builders.Volume(etcdBackup)}
	ofRedis := commonv1.BackupReference{Name: redisBackup, Store: builders.Volume(redisBackup)}
	keys := restored{"EtcdCluster", etcdSample, etcdRestored, p.putKey, p.getKey}
	cache := restored{"Redis", redisSample, redisRestored, p.setKey, p.readKey}
	before, after := "before the backup, "+time.Now().Format(time.RFC3339Nano), "after the backup"

	for _, s := range []struct {
		written string // to the samples, first
		objects []client.Object
	}{
		{before, []client.Object{
			newClaim(etcdBackup), builders.EtcdBackup(etcdBackup, etcdSample, ofEtcd.Store).Build(),
			newClaim(redisBackup), builders.RedisBackup(redisBackup, redisSample, ofRedis.Store).Build()}},
		{after, []client.Object{newEtcd(ofEtcd), newRedis(ofRedis)}},
	} {
		if err := errors.Join(keys.writeTo(ctx, keys.sample, s.written), cache.writeTo(ctx, cache.sample, s.written)); err != nil {
			return err
		}
		if err := p.createAndFollow(ctx, s.objects...); err != nil {
			return err
		}
	}
	for _, r := range []restored{keys, cache} {
		if err := r.holds(ctx, before); err != nil {
			return err
		}
	}
	if err := keys.writeTo(ctx, keys.name, after); err != nil {
		return err
	}
	if err := p.createAndFollow(ctx, &databasev1alpha1.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Name: etcdBackup},
		Spec: databasev1alpha1.EtcdRestoreSpec{ClusterName: etcdRestored, Backup: ofEtcd}}); err != nil {
		return err
	}
	if err := keys.holds(ctx, before); err != nil {
		return err
	}
	return d.removeRestored(ctx, restoreKinds...)
}

func newClaim(name string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("64Mi")}},
	}}
}

func newEtcd(from commonv1.BackupReference) *databasev1alpha1.EtcdCluster {
	return builders.EtcdCluster(etcdRestored).Size(1).With(func(s *databasev1alpha1.EtcdClusterSpec) {
		s.Bootstrap = &databasev1alpha1.EtcdBootstrap{Backup: from}
	}).Build()
}

func newRedis(from commonv1.BackupReference) *cachev1alpha1.Redis {
	return builders.Redis(redisRestored).Size(1).With(func(s *cachev1alpha1.RedisSpec) {
		s.Bootstrap = &cachev1alpha1.RedisBootstrap{Backup: from}
		s.TerminationGracePeriodSeconds = ptr.To[int64](1) // no other server takes over from it
	}).Build()
}

// createAndFollow makes objects of this step, and follows those that are the operator's.
func (p prover) createAndFollow(ctx context.Context, objects ...client.Object) error {
	start := time.Now()
	var ours []*unstructured.Unstructured
	for _, obj := range objects {
		obj.SetNamespace(samplesNamespace)
		obj.SetLabels(map[string]string{restoreLabel: ""})
		if err := p.Create(ctx, obj); err != nil {
			return fmt.Errorf("creating %s: %w", obj.GetName(), err)
		}
		if _, isClaim := obj.(*corev1.PersistentVolumeClaim); isClaim {
			continue
		}
		kind, err := p.GroupVersionKindFor(obj)
		if err != nil {
			return err
		}
		followed := &unstructured.Unstructured{}
		followed.SetGroupVersionKind(kind)
		followed.SetName(obj.GetName())
		ours = append(ours, followed)
	}
	return follow(ctx, p, start, ours)
}

// writeTo writes the key of the sample, or of what was made from its backup.
func (r restored) writeTo(ctx context.Context, name, value string) error {
	err := poll(ctx, proofLimit, func(ctx context.Context) error {
		attempt, cancel := context.WithTimeout(ctx, talkLimit)
		defer cancel()
		return r.write(attempt, client.ObjectKey{Namespace: samplesNamespace, Name: name}, value)
	})
	if err != nil {
		return fmt.Errorf("writing to %s %s: %w", r.kind, name, err)
	}
	return nil
}

// holds shows that the key has the value that the backup has. Another one does not get better by waiting; no answer may, as the
// server has just started.
func (r restored) holds(ctx context.Context, value string) error {
	start := time.Now()
	err := poll(ctx, samplesLimit, func(ctx context.Context) error {
		attempt, cancel := context.WithTimeout(ctx, talkLimit)
		defer cancel()
		read, err := r.read(attempt, client.ObjectKey{Namespace: samplesNamespace, Name: r.name})
		if err == nil && read != value {
			err = wait.Final(fmt.Errorf("%s=%q, not the %q that %s had when it was backed up", restoreKey, read, value, r.sample))
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%s %s: %w", r.kind, r.name, err)
	}
	done(start, "%-11s  %-16s %s=%q, as %s had it", r.kind, r.name, restoreKey, value, r.sample)
	return nil
}

// removeRestored removes what this step has made of those kinds.
func (d *demo) removeRestored(ctx context.Context, kinds ...string) error {
	start := time.Now()
	removed, err := d.output(ctx, "", "kubectl", "delete", strings.Join(kinds, ","),
		"--namespace="+samplesNamespace, "--selector="+restoreLabel, "--output=name", "--timeout="+removalLimit.String())
	if err == nil && removed != "" {
		done(start, "the backups and what was made from them are removed")
	}
	return err
}
