package etcd

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
)

// objectAt is an object in a pass at that time, of which nothing is known yet.
func objectAt(now time.Time, cluster *databasev1alpha1.EtcdCluster) *object {
	return &object{Reconciler: &Reconciler{clock: clocktesting.NewFakePassiveClock(now)}, cluster: cluster, known: &objectMemory{}}
}

// effectsOn are the effects of a pass on that API server, which saw these pods.
func effectsOn(api ctrlclient.Client, cluster *databasev1alpha1.EtcdCluster, pods ...corev1.Pod) *apiEffects {
	o := objectAt(time.Unix(0, 0), cluster)
	o.Converger, o.in.pods = converge.Converger{Client: api, APIReader: api}, pods
	return &apiEffects{object: o, saveStatus: func(context.Context) error { return nil }}
}
