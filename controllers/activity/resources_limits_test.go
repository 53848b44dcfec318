package activity

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	egov1 "github.com/mainstay-operator/mainstay-operator/api/ego/v1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/test/releases"
)

func TestEachContainerHasResources(t *testing.T) {
	releases.Resources(t, "Activity", func(c string) bool { return c == guardContainer }, func(a *egov1.Activity) corev1.PodSpec {
		a.UID = "abcdef-1"
		return desiredPod(a, egov1.Attempt{Number: 1, PodName: podName(a, 1), GuardImage: "operator"}).Spec
	})
}

// A quota that asks for limits gets them; nowhere else is a command limited by what its Activity does not name.
func TestLimitsWhereAQuotaAsksForThem(t *testing.T) {
	for _, c := range []struct {
		name  string
		asks  bool
		given corev1.ResourceRequirements
		want  corev1.ResourceRequirements
	}{
		{"no quota", false, corev1.ResourceRequirements{}, parts.Resources("10m", "16Mi", "", "")},
		{"a quota", true, corev1.ResourceRequirements{}, parts.Resources("10m", "16Mi", "1", "512Mi")},
		{"a quota, and requests in the spec", true, parts.Resources("2", "1Gi", "", ""), parts.Resources("2", "1Gi", "2", "1Gi")},
		{"a quota, and a limit in the spec", true, parts.Resources("", "", "", "64Mi"), parts.Resources("10m", "", "1", "64Mi")},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newFakeCluster(t, 0)
			w.submit(egov1.ActivitySpec{Resources: c.given})
			o := w.operator()
			asked := 0
			o.intercept = func(call string, do func() error) error {
				if call == "create *v1.Pod" {
					if asked++; asked == 1 && c.asks {
						return apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("failed quota: q: must specify limits.cpu for: activity"))
					}
				}
				return do()
			}
			o.runUntilQuiet()
			if got := w.pods()[0].Spec.Containers[0].Resources; !sameResources(got, c.want) {
				t.Errorf("it has %+v", got)
			}
			if a := w.activity(); a.Status.Prosta != egov1.Succeeded || len(a.Status.Attempts) != 1 {
				t.Errorf("got %+v", a.Status)
			}
		})
	}
}

func sameResources(a, b corev1.ResourceRequirements) bool {
	same := func(a, b corev1.ResourceList) bool {
		for name, value := range a {
			if other, ok := b[name]; !ok || value.Cmp(other) != 0 {
				return false
			}
		}
		return len(a) == len(b)
	}
	return same(a.Requests, b.Requests) && same(a.Limits, b.Limits)
}

func TestARefusalByAQuotaIsQuoted(t *testing.T) {
	w := newFakeCluster(t, 1, 0)
	w.submit(egov1.ActivitySpec{})
	o := w.operator()
	o.intercept = func(call string, do func() error) error {
		if call == "create *v1.Pod" {
			return apierrors.NewForbidden(corev1.Resource("pods"), "p", errors.New("exceeded quota: small, requested: limits.cpu=1"))
		}
		return do()
	}
	o.runUntilQuiet()
	got := meta.FindStatusCondition(w.activity().Status.Conditions, commonv1.ConditionDegraded)
	for _, part := range []string{"exceeded quota: small", "Raise the ResourceQuota", "spec.resources"} {
		if got == nil || got.Status != "True" || !strings.Contains(got.Message, part) {
			t.Errorf("%q is missing in %+v", part, got)
		}
	}
}
