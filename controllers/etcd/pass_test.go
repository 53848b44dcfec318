package etcd

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/fleet"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/command"
	"github.com/mainstay-operator/mainstay-operator/test/builders"
)

// stamping is an EtcdCluster with two claims that lack its record. Each pass over it is to save that a change is withdrawn.
type stamping struct {
	e       *databasev1alpha1.EtcdCluster
	api     ctrlclient.Client
	patch   func(context.Context) error // what the API server does before it writes a claim
	saving  error
	patches int
	saves   int
}

func newStamping() *stamping {
	s := &stamping{e: builders.EtcdCluster("a").In("default").Storage("1Gi").Build(), patch: func(context.Context) error { return nil }}
	record := ofRevision(7).Membership
	s.e.Status.Membership = &record
	s.api = fake.NewClientBuilder().WithObjects(volumeClaim("a-0"), volumeClaim("a-1")).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, to ctrlclient.WithWatch, obj ctrlclient.Object, patch ctrlclient.Patch,
			opts ...ctrlclient.PatchOption) error {
			s.patches++
			if err := s.patch(ctx); err != nil {
				return err
			}
			return to.Patch(ctx, obj, patch, opts...)
		}}).Build()
	return s
}

// pass returns one that has planned to withdraw a change.
func (s *stamping) pass(t *testing.T) *pass {
	t.Helper()
	a := effectsOn(s.api, s.e)
	a.in.set = &appsv1.StatefulSet{}
	a.saveStatus = func(context.Context) error { s.saves++; return s.saving }
	claims, err := a.ReadClaims(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet.Fleet{Cluster: s.e, Effects: a, Spec: membership.Spec{Name: "a", Size: 1, HasStorage: true},
		World: membership.World{Claims: claims}}
	return &pass{object: a.object, effects: a, fleet: f, step: membership.Step{Do: membership.WithdrawChange}}
}

// areStamped reports whether all claims have the record of that revision.
func (s *stamping) areStamped(t *testing.T, revision int64) bool {
	t.Helper()
	all := true
	for _, pod := range []string{"a-0", "a-1"} {
		claim := &corev1.PersistentVolumeClaim{}
		if err := s.api.Get(t.Context(), ctrlclient.ObjectKey{Namespace: "default", Name: "data-" + pod}, claim); err != nil {
			t.Fatal(err)
		}
		stamp, ok := membership.Claim{UID: claim.UID, Stamp: claim.Annotations[config.AnnotationRecord]}.ReadStamp()
		all = all && ok && stamp.Revision() == revision
	}
	return all
}

// The API server may take longer for one claim than an act may take: 30 s, with a webhook. The stamps are then waited for, and the next
// pass acts: what this one has seen is too old.
func TestSlowStampsAreNotCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStamping()
		s.patch = func(ctx context.Context) error {
			select {
			case <-ctx.Done(): // and it is not written
				return ctx.Err()
			case <-time.After(command.ActLimit + time.Second):
				return nil
			}
		}
		ctx := logr.NewContext(t.Context(), logr.Discard())
		first := s.pass(t)
		if err := first.act(ctx); err != nil || first.failed != nil || first.step.Do != membership.Wait || first.step.RequeueAfter == 0 {
			t.Errorf("the first pass: %v, %v, %s", err, first.failed, first.step)
		}
		if !s.areStamped(t, 7) || s.patches != 2 || s.saves != 0 {
			t.Errorf("after the first pass %d patches, %d saves", s.patches, s.saves)
		}
		next := s.pass(t)
		if err := next.act(ctx); err != nil || next.failed != nil || next.step.Do != membership.WithdrawChange || s.saves != 1 {
			t.Errorf("the next pass: %v, %v, %s, %d saves", err, next.failed, next.step, s.saves)
		}
	})
}

// Without its stamps a pass does not act. The children and the status follow all the same, unless the object is not known to be the newest.
func TestAPassWithoutItsStampsDoesNotAct(t *testing.T) {
	refusal := errors.New("refused")
	for _, c := range []struct {
		name           string
		arrange        func(*stamping)
		failed, ends   error
		patches, saves int
	}{
		{"the claims cannot be written", func(s *stamping) {
			s.patch = func(context.Context) error { return refusal }
		}, refusal, nil, 1, 0},
		{"an earlier status was restored, and its revision cannot be saved", func(s *stamping) {
			s.e.Status.Membership.Revision, s.saving = 0, refusal
		}, nil, refusal, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStamping()
			c.arrange(s)
			p := s.pass(t)
			err := p.act(logr.NewContext(t.Context(), logr.Discard()))
			if !errors.Is(err, c.ends) || !errors.Is(p.failed, c.failed) || p.step.Do != membership.WithdrawChange || p.readsOnly {
				t.Errorf("%v, %v: %s, and it only reads: %t", err, p.failed, p.step, p.readsOnly)
			}
			if s.patches != c.patches || s.saves != c.saves {
				t.Errorf("%d patches, %d saves", s.patches, s.saves)
			}
		})
	}
}

// A pass that only reads stamps nothing, and before there is a record there is nothing to stamp.
func TestWhatIsNotStamped(t *testing.T) {
	for _, c := range []struct {
		name    string
		arrange func(*pass)
	}{
		{"the object is paused", func(p *pass) { p.cluster.Spec.Paused = true }},
		{"something is lost", func(p *pass) { p.in.lost = &membership.Step{Do: membership.Block} }},
		{"there is no record", func(p *pass) { p.cluster.Status.Membership = nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStamping()
			p := s.pass(t)
			c.arrange(p)
			p.plan()
			if err := p.act(logr.NewContext(t.Context(), logr.Discard())); err != nil || p.failed != nil || s.patches+s.saves > 0 {
				t.Errorf("%v, %v: %d patches, %d saves", err, p.failed, s.patches, s.saves)
			}
		})
	}
}
