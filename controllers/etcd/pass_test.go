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

// passAt is a pass at that time over an object of which nothing is known yet.
func passAt(now time.Time, f *fleet) *pass {
	return &pass{Reconciler: &Reconciler{clock: clocktesting.NewFakePassiveClock(now)}, fleet: f, known: &objectMemory{}}
}

// effectsOn are the effects of a pass on that API server, which saw these pods.
func effectsOn(api ctrlclient.Client, cluster *databasev1alpha1.EtcdCluster, pods ...corev1.Pod) *apiEffects {
	p := passAt(time.Unix(0, 0), &fleet{cluster: cluster})
	p.Converger, p.in.pods = converge.Converger{Client: api, APIReader: api}, pods
	p.outside = &apiEffects{pass: p, saveStatus: func(context.Context) error { return nil }}
	p.effects = p.outside
	return p.outside
}
