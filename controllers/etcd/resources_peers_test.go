package etcd

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"reflect"
	"slices"
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
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/converge"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki/measured"
)

const (
	day  = 24 * time.Hour
	year = 365 * day
)

var (
	peersSpec  = membership.Spec{Name: "e", Namespace: "ns", Size: 3}
	peersStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
)

// step is what comes of one pass, which must not fail.
func step(t *testing.T, c peerCertificates, members []memberTrust, now time.Time) (peerCertificates, string) {
	t.Helper()
	next, change, err := c.next(peersSpec, members, now)
	if err != nil {
		t.Fatal(err)
	}
	return next, change
}

// certificates are what the names of a table mean: "-" is none, "a" the authority of the start, and "b" one after it.
type certificates struct{ authority, trusted, issuer string }

// nameCertificates names what there is; old are the certificates of the start.
func nameCertificates(c, old peerCertificates) certificates {
	a := old.authority.Parse()
	name := func(one *x509.Certificate) string {
		if one.Equal(a) {
			return "a"
		}
		return "b"
	}
	named := certificates{"-", "", "-"}
	if one := c.authority.Parse(); one != nil {
		named.authority = name(one)
	}
	trusted, _ := measured.Bundle(c.trusted)
	for _, one := range trusted {
		named.trusted += name(one)
		if leaf, _ := c.leaf(); leaf != nil && leaf.CheckSignatureFrom(one) == nil {
			named.issuer = name(one)
		}
	}
	return named
}

func TestNextPeerCertificates(t *testing.T) {
	a, _ := step(t, peerCertificates{}, nil, peersStart)
	trustA := a.trustAnnotation()[annotationTrusted]
	withB := a
	var err error
	if withB.authority, err = pki.NewAuthority("b", peersStart); err != nil {
		t.Fatal(err)
	}
	both, _ := step(t, withB, nil, peersStart)
	trustBoth := both.trustAnnotation()[annotationTrusted]
	byB, _ := step(t, both, nil, peersStart)
	onlyB := byB
	onlyB.trusted = byB.authority.Certificate
	without := func(c peerCertificates, edit func(*peerCertificates)) peerCertificates {
		edit(&c)
		return c
	}
	noAuthority := func(c *peerCertificates) { c.authority = pki.Authority{} }
	noPeers := func(c *peerCertificates) { *c = peerCertificates{authority: c.authority} }
	running := func(trusts ...string) []memberTrust {
		var all []memberTrust
		for _, one := range trusts {
			all = append(all, memberTrust{one, true})
		}
		return all
	}
	for _, c := range []struct {
		name    string
		from    peerCertificates
		members []memberTrust
		after   time.Duration
		want    certificates
		renewed bool // what members show
		lost    bool
	}{
		{name: "the first", want: certificates{"b", "b", "b"}, renewed: true},
		{name: "all is well", from: a, members: running(trustA, trustA), after: year / 2, want: certificates{"a", "a", "a"}},
		{name: "less than a third of a year is left", from: a, members: running(trustA, trustA), after: year * 3 / 4, want: certificates{"a", "a", "a"}, renewed: true},
		{name: "they have ended", from: a, members: running(trustA, trustA), after: 2 * year, want: certificates{"a", "a", "a"}, renewed: true},
		{name: "the authority is due: both are trusted first", from: a, members: running(trustA, trustA), after: 7 * year, want: certificates{"b", "ab", "a"}},
		{name: "the authority is lost: the same", from: without(a, noAuthority), members: running(trustA, trustA), want: certificates{"b", "ab", "a"}},
		{name: "another key in its place: the same", from: without(a, func(p *peerCertificates) { p.authority.Key = both.authority.Key }),
			members: running(trustA, trustA), want: certificates{"b", "ab", "a"}},
		{name: "a member does not trust the new one yet", from: both, members: running(trustBoth, trustA), want: certificates{"b", "ab", "a"}},
		{name: "a member's pod is about to come", from: both, members: append(running(trustBoth), memberTrust{}), want: certificates{"b", "ab", "a"}},
		{name: "all trust the new one", from: both, members: running(trustBoth, trustBoth), want: certificates{"b", "ab", "b"}, renewed: true},
		{name: "nobody takes the old ones any more", from: both, members: running(trustBoth, trustA), after: 2 * year, want: certificates{"b", "ab", "b"}, renewed: true},
		{name: "the new ones may not be everywhere", from: byB, members: running(trustBoth, trustBoth), after: time.Minute, want: certificates{"b", "ab", "b"}},
		{name: "the former authority is dropped", from: byB, members: running(trustBoth, trustBoth), after: day, want: certificates{"b", "b", "b"}},
		{name: "it has been dropped", from: onlyB, members: running(trustBoth, trustBoth), after: day, want: certificates{"b", "b", "b"}},
		{name: "only the authority is left", from: without(a, noPeers), members: running(trustA, trustA), want: certificates{"a", "a", "a"}, renewed: true},
		{name: "a key is another's", from: without(a, func(p *peerCertificates) { p.serverKey = p.clientKey }), members: running(trustA, trustA),
			want: certificates{"a", "a", "a"}, renewed: true},
		{name: "what vouches for them is lost", from: without(a, func(p *peerCertificates) { p.trusted = []byte("words") }), members: running(trustA, trustA),
			want: certificates{"a", "a", "a"}, renewed: true},
		{name: "both are lost", members: running(trustA, trustA), lost: true},
		{name: "both are lost, and one member does not run", members: append(running(trustA), memberTrust{trustA, false}), lost: true},
		{name: "only an authority is left that a member does not trust", from: without(both, noPeers), members: running(trustBoth, trustA), lost: true},
		{name: "both are lost, and none runs", members: []memberTrust{{trustA, false}, {trustA, false}}, want: certificates{"b", "b", "b"}, renewed: true},
		{name: "both are lost by one that has no peers", members: running(trustA), want: certificates{"b", "b", "b"}, renewed: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := peersStart.Add(c.after)
			next, change, err := c.from.next(peersSpec, c.members, now)
			if c.lost {
				if !errors.Is(err, errTrustLost) {
					t.Errorf("got %v, %v", nameCertificates(next, a), err)
				}
				return
			}
			if got := nameCertificates(next, a); err != nil || got != c.want {
				t.Errorf("got %v, %v", got, err)
			}
			if renewed := !slices.Equal(next.server, c.from.server); renewed != c.renewed {
				t.Errorf("new certificates: %v", renewed)
			}
			if (change != "") == reflect.DeepEqual(next, c.from) {
				t.Errorf("it says %q of that", change)
			}
			if leaf, _ := next.leaf(); c.renewed && pki.IsDue(leaf, now) {
				t.Error("they are due already")
			}
		})
	}
}

// simulatedMember has read the authorities when it started, and shows what its kubelet has brought.
type simulatedMember struct {
	pod   string // the annotation that it was made with
	trust []byte
	shows peerCertificates
}

// refuses says why the member refuses the other.
func (m simulatedMember) refuses(other simulatedMember, host string, now time.Time) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(m.trust)
	server, client := pki.ParsePair(other.shows.server, other.shows.serverKey), pki.ParsePair(other.shows.connecting, other.shows.clientKey)
	_, err := server.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, DNSName: host})
	_, alsoErr := client.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	return errors.Join(err, alsoErr)
}

// simulation is a cluster of three, and what the operator has published for it.
type simulation struct {
	*testing.T
	now         time.Time
	published   peerCertificates
	members     []simulatedMember
	changes     int
	authorities map[string]bool // that there were
}

// newPod is a member in a pod that is made now.
func (s *simulation) newPod() simulatedMember {
	return simulatedMember{s.published.trustAnnotation()[annotationTrusted], s.published.trusted, s.published}
}

// check fails the test if a member refuses another.
func (s *simulation) check(when string) {
	s.Helper()
	for i, m := range s.members {
		for j, other := range s.members {
			if err := m.refuses(other, peersSpec.Host(fmt.Sprintf("e-%d", j)), s.now); err != nil {
				s.Fatalf("%s, after %s: member %d refuses %d: %v", when, s.now.Sub(peersStart), i, j, err)
			}
		}
	}
}

// pass is one of the operator. It reports whether anything is new.
func (s *simulation) pass() bool {
	var trust []memberTrust
	for _, m := range s.members {
		trust = append(trust, memberTrust{m.pod, true})
	}
	next, change := step(s.T, s.published, trust, s.now)
	if change != "" {
		s.published, s.authorities[string(next.authority.Certificate)] = next, true
		s.changes++
		s.check("the operator has published new ones")
	}
	return change != ""
}

// restart starts each server anew in its pod, with files that the kubelet has brought.
func (s *simulation) restart() {
	for i := range s.members {
		s.members[i].trust, s.members[i].shows = s.published.trusted, s.published
		s.check("one has started anew")
	}
}

// deliver brings the files to the members, one after the other.
func (s *simulation) deliver(after func(i int)) {
	for i := range s.members {
		if !slices.Equal(s.members[i].shows.server, s.published.server) {
			s.members[i].shows = s.published
			s.check("the kubelet has brought new ones")
		}
		after(i)
	}
}

// replace makes a pod anew that is outdated.
func (s *simulation) replace(i int) {
	if s.members[i].pod != s.published.trustAnnotation()[annotationTrusted] {
		s.members[i] = s.newPod()
		s.check("one has got a new pod")
		s.pass() // in the middle of a rolling restart
	}
}

// In twelve years, with an authority lost and another in the middle of its replacement, at no time a member refuses another:
// whichever of them have got a new pod, started anew in theirs, or have not been brought the new certificates yet.
func TestMembersTrustEachOtherAtAllTimes(t *testing.T) {
	s := &simulation{T: t, now: peersStart, authorities: map[string]bool{}}
	s.published, _ = step(t, peerCertificates{}, nil, s.now)
	s.members = []simulatedMember{s.newPod(), s.newPod(), s.newPod()}
	for ; s.now.Before(peersStart.Add(12 * year)); s.now = s.now.Add(30 * day) {
		if s.now.Equal(peersStart.Add(90 * day)) {
			s.published.authority = pki.Authority{}
		}
		for s.pass() {
			s.restart()
			if len(s.authorities) == 1 {
				s.published.authority = pki.Authority{} // in the middle
			}
		}
		s.deliver(s.replace)
		s.deliver(func(int) {}) // long before the next tick
	}
	if len(s.authorities) < 3 || s.changes < 15 {
		t.Errorf("%d authorities and %d changes are too few for a test", len(s.authorities), s.changes)
	}
	if trusted, _ := measured.Bundle(s.published.trusted); len(trusted) != 1 {
		t.Errorf("%d authorities are trusted in the end", len(trusted))
	}
}

func TestTrustOf(t *testing.T) {
	pod := func(name string, status ...corev1.ContainerStatus) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{annotationTrusted: "f"}}, Status: corev1.PodStatus{ContainerStatuses: status}}
	}
	record := &databasev1alpha1.EtcdMembership{Members: []databasev1alpha1.EtcdRecordedMember{{Name: "e-0"}, {Name: "e-1"}}}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	got := trustOf(record, []corev1.Pod{
		pod("e-0", corev1.ContainerStatus{Name: "another", State: running}),
		pod("e-2", corev1.ContainerStatus{Name: appName, State: running}),
	})
	if want := []memberTrust{{"f", false}, {"f", true}, {"", false}}; !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

// secretsOf are our Secrets as they stand with these certificates.
func secretsOf(e *databasev1alpha1.EtcdCluster, c peerCertificates) []client.Object {
	own := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: e.Namespace, Name: name, OwnerReferences: []metav1.OwnerReference{{UID: e.UID, Name: e.Name, Controller: ptr.To(true)}}}
	}
	return []client.Object{&corev1.Secret{ObjectMeta: own(authorityName(e)), Data: authoritySecret(e, c).Data}, &corev1.Secret{ObjectMeta: own(peersName(e)), Data: c.peersData()}}
}

// A cache that is behind must not make yet another authority, and what was not written is not remembered.
func TestPeerCertificatesAreThoseThatStand(t *testing.T) {
	e := &databasev1alpha1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "e", UID: "u"},
		Status: databasev1alpha1.EtcdClusterStatus{Membership: &databasev1alpha1.EtcdMembership{}}}
	before, _ := step(t, peerCertificates{}, nil, peersStart)
	now := peersStart.Add(year)
	after, _ := step(t, before, nil, now)
	edited, deleted := after, after
	edited.authority.Key = []byte("other")
	deleted.authority = pki.Authority{}
	for _, c := range []struct {
		name         string
		cached, live peerCertificates
		written      *writtenPeers
		change       bool
	}{
		{"all is well", after, after, nil, false},
		{"the cache is behind", before, after, nil, false},
		{"they are due", before, before, nil, true},
		{"they are due, and were known", before, before, &writtenPeers{before, true}, true},
		{"the cache does not show yet what was written", before, before, &writtenPeers{after, false}, false},
		{"nor that it was written for the first time", peerCertificates{}, peerCertificates{}, &writtenPeers{after, false}, false},
		{"somebody edited them", edited, edited, &writtenPeers{after, true}, false},
		{"somebody edited them while the operator was away", edited, edited, nil, true},
		{"somebody deleted them", deleted, deleted, &writtenPeers{after, true}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &Reconciler{clock: clocktesting.NewFakePassiveClock(now), Converger: converge.Converger{
				Client:    fake.NewClientBuilder().WithObjects(secretsOf(e, c.cached)...).Build(),
				APIReader: fake.NewClientBuilder().WithObjects(secretsOf(e, c.live)...).Build()}}
			if c.written != nil {
				r.memory.notePeers(e, *c.written)
			}
			for range 2 {
				got, change, err := r.peerCertificates(context.Background(), e, peersSpec, nil)
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
	next, _ := step(t, peerCertificates{}, nil, peersStart)
	other, _ := step(t, next, nil, peersStart.Add(year))
	secrets := secretsOf(e, next)
	peers := secrets[1].(*corev1.Secret)
	for _, c := range []struct {
		name     string
		observed converge.Observed
		stands   []client.Object
		want     bool
	}{
		{"both were written", converge.Observed{"Secret/" + authorityName(e): secrets[0], "Secret/" + peersName(e): peers}, nil, true},
		{"the authority is as it was", converge.Observed{"Secret/" + authorityName(e): converge.SecretMetadata(), "Secret/" + peersName(e): peers}, secrets[:1], true},
		{"the certificates were not written", converge.Observed{}, secretsOf(e, other), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			recorder := events.NewFakeRecorder(9)
			cluster := fake.NewClientBuilder().WithObjects(c.stands...).Build()
			r := &Reconciler{clock: clocktesting.NewFakePassiveClock(peersStart), Converger: converge.Converger{Client: cluster, APIReader: cluster, Events: recorder}}
			r.reportPeers(t.Context(), e, c.observed, inputs{peers: next, peersChange: "renewed"})
			if _, known := r.memory.peers(e); known != c.want || (len(recorder.Events) == 1) != c.want {
				t.Errorf("remembered: %t, %d events", known, len(recorder.Events))
			}
		})
	}
}

// Others in their place would cut the members off from each other, and empty ones even from themselves.
func TestNothingIsWrittenWhenTrustIsLost(t *testing.T) {
	record := &databasev1alpha1.EtcdMembership{ClusterID: "c", Members: []databasev1alpha1.EtcdRecordedMember{{Name: "e-0"}, {Name: "e-1"}}}
	e := &databasev1alpha1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "e", UID: "u"}, Status: databasev1alpha1.EtcdClusterStatus{Membership: record}}
	controlledBy := func(name string, uid types.UID) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: parts.Labels(appName, e.Name), UID: types.UID(name),
			OwnerReferences: []metav1.OwnerReference{{UID: uid, Name: "e", Controller: ptr.To(true)}}}
	}
	objects := []client.Object{e, &appsv1.StatefulSet{ObjectMeta: controlledBy("e", "u")}}
	for _, m := range record.Members {
		objects = append(objects, &corev1.Pod{ObjectMeta: controlledBy(m.Name, "e"), Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: appName, RestartCount: 1}}}})
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
