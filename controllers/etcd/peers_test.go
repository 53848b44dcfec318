package etcd

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
)

var (
	peersSpec  = membership.Spec{Name: "e", Namespace: "ns", Size: 3}
	peersStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
)

// nextPeers are the certificates that come next while no member runs.
func nextPeers(t *testing.T, c config.PeerCertificates, now time.Time) (config.PeerCertificates, string) {
	t.Helper()
	next, change, err := c.NextPublished(peersSpec, nil, now)
	if err != nil {
		t.Fatal(err)
	}
	return next, change
}

// secretsOf are our Secrets with these certificates.
func secretsOf(e *databasev1alpha1.EtcdCluster, c config.PeerCertificates) []client.Object {
	own := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: e.Namespace, Name: name,
			OwnerReferences: []metav1.OwnerReference{{UID: e.UID, Name: e.Name, Controller: ptr.To(true)}}}
	}
	return []client.Object{&corev1.Secret{ObjectMeta: own(peersSpec.AuthorityName()), Data: c.AuthorityData()},
		&corev1.Secret{ObjectMeta: own(peersSpec.PeersName()), Data: c.PeersData()}}
}

// A cache that is behind must not make yet another authority, and what was not written is not remembered.
func TestPeerCertificatesAreThoseThatStand(t *testing.T) {
	e := &databasev1alpha1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "e", UID: "u"},
		Status: databasev1alpha1.EtcdClusterStatus{Membership: &databasev1alpha1.EtcdMembership{}}}
	before, _ := nextPeers(t, config.PeerCertificates{}, peersStart)
	now := peersStart.Add(365 * 24 * time.Hour)
	after, _ := nextPeers(t, before, now)
	authority := after.AuthorityData()
	authority[config.AuthorityKeyKey] = []byte("other")
	edited, deleted := config.PeerCertificatesIn(authority, after.PeersData()), config.PeerCertificatesIn(nil, after.PeersData())
	for _, c := range []struct {
		name         string
		cached, live config.PeerCertificates
		written      *writtenPeers
		change       bool
	}{
		{"all is well", after, after, nil, false},
		{"the cache is behind", before, after, nil, false},
		{"they are due", before, before, nil, true},
		{"they are due, and were known", before, before, &writtenPeers{before, true}, true},
		{"the cache does not show yet what was written", before, before, &writtenPeers{after, false}, false},
		{"the cache does not show yet what was written for the first time", config.PeerCertificates{}, config.PeerCertificates{},
			&writtenPeers{after, false}, false},
		{"somebody edited them", edited, edited, &writtenPeers{after, true}, false},
		{"somebody edited them while the operator was away", edited, edited, nil, true},
		{"somebody deleted them", deleted, deleted, &writtenPeers{after, true}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := objectAt(now, e)
			o.spec = peersSpec
			o.Converger = converge.Converger{
				Client:    fake.NewClientBuilder().WithObjects(secretsOf(e, c.cached)...).Build(),
				APIReader: fake.NewClientBuilder().WithObjects(secretsOf(e, c.live)...).Build()}
			o.known.peers = c.written
			for range 2 {
				got, change, err := o.peerCertificates(context.Background())
				if err != nil || (change != "") != c.change {
					t.Fatalf("%q, %v", change, err)
				}
				if !c.change && !reflect.DeepEqual(got, after) {
					t.Error("these are others")
				}
			}
		})
	}
}

// Of a Secret that a pass left as it is, Converge returns the metadata only.
func TestChangedPeerCertificatesAreReportedOnceTheyAreWritten(t *testing.T) {
	e := &databasev1alpha1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "e", UID: "u"}}
	next, _ := nextPeers(t, config.PeerCertificates{}, peersStart)
	other, _ := nextPeers(t, next, peersStart.Add(365*24*time.Hour))
	secrets := secretsOf(e, next)
	peers := secrets[1].(*corev1.Secret)
	for _, c := range []struct {
		name     string
		observed converge.Observed
		stands   []client.Object
		want     bool
	}{
		{"both were written", converge.Observed{"Secret/" + peersSpec.AuthorityName(): secrets[0], "Secret/" + peersSpec.PeersName(): peers}, nil,
			true},
		{"the authority is as it was", converge.Observed{"Secret/" + peersSpec.AuthorityName(): converge.SecretMetadata(),
			"Secret/" + peersSpec.PeersName(): peers}, secrets[:1], true},
		{"the certificates were not written", converge.Observed{}, secretsOf(e, other), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			recorder := events.NewFakeRecorder(9)
			cluster := fake.NewClientBuilder().WithObjects(c.stands...).Build()
			o := objectAt(peersStart, e)
			o.spec = peersSpec
			o.Converger = converge.Converger{Client: cluster, APIReader: cluster, Events: recorder}
			o.in = inputs{peers: next, peersChange: "renewed"}
			o.reportPeers(t.Context(), c.observed)
			if known := o.known.peers != nil; known != c.want || (len(recorder.Events) == 1) != c.want {
				t.Errorf("remembered: %t, %d events", known, len(recorder.Events))
			}
		})
	}
}

// Others in their place would cut the members off from each other, and empty ones even from themselves.
func TestNothingIsWrittenWhenTrustIsLost(t *testing.T) {
	record := &databasev1alpha1.EtcdMembership{ClusterID: "c", Members: []databasev1alpha1.EtcdRecordedMember{{Name: "e-0"}, {Name: "e-1"}}}
	e := &databasev1alpha1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "e", UID: "u"},
		Status: databasev1alpha1.EtcdClusterStatus{Membership: record}}
	controlledBy := func(name string, uid types.UID) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: parts.Labels(config.AppName, e.Name), UID: types.UID(name),
			OwnerReferences: []metav1.OwnerReference{{UID: uid, Name: "e", Controller: ptr.To(true)}}}
	}
	objects := []client.Object{e, &appsv1.StatefulSet{ObjectMeta: controlledBy("e", "u")}}
	for _, m := range record.Members {
		objects = append(objects, &corev1.Pod{ObjectMeta: controlledBy(m.Name, "e"),
			Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: config.AppName, RestartCount: 1}}}})
	}
	known := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(known), databasev1alpha1.AddToScheme(known)); err != nil {
		t.Fatal(err)
	}
	cluster := fake.NewClientBuilder().WithScheme(known).WithObjects(objects...).WithStatusSubresource(e).Build()
	r := &Reconciler{clock: clocktesting.NewFakePassiveClock(peersStart),
		Converger: converge.Converger{Client: cluster, APIReader: cluster, Events: events.NewFakeRecorder(9)}}
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(e)}); err != nil {
		t.Fatal(err)
	}
	var secrets corev1.SecretList
	if err := errors.Join(cluster.List(t.Context(), &secrets), cluster.Get(t.Context(), client.ObjectKeyFromObject(e), e)); err != nil {
		t.Fatal(err)
	}
	degraded := meta.FindStatusCondition(e.Status.Conditions, commonv1.ConditionDegraded)
	if len(secrets.Items) > 0 || degraded == nil || degraded.Reason != commonv1.ReasonPeerSecretsLost {
		t.Errorf("%d Secrets, %+v", len(secrets.Items), degraded)
	}
}
