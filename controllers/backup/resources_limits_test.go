package backup

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	cachev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/cache/v1alpha1"
	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/backup"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/parts"
	"github.com/mainstay-operator/mainstay-operator/test/releases"
)

// The server of the verification has limits if those that are backed up have; all others run our own program.
func TestEachContainerHasResources(t *testing.T) {
	ours := func(c string) bool { return c != backup.CommandVerify }
	pod := func(b Object, kind Kind) corev1.PodSpec {
		b.SetUID(types.UID("backup-uid"))
		b.GetBackupStatus().Run = nextAttempt(b, testTime, 1, testTime, "operator:1")
		return desiredPod(b, kind, testSource).Spec
	}
	releases.Resources(t, "EtcdBackup", ours, func(b *databasev1alpha1.EtcdBackup) corev1.PodSpec { return pod(b, Etcd()) })
	releases.Resources(t, "RedisBackup", ours, func(b *cachev1alpha1.RedisBackup) corev1.PodSpec { return pod(b, Redis()) })
}

// The server that is started from a backup needs what those that are backed up need, whatever the runner is given.
func TestResourcesOfABackup(t *testing.T) {
	b := running("", func(b *databasev1alpha1.EtcdBackup) { b.Spec.Resources = parts.Resources("1", "256Mi", "2", "256Mi") })
	from := testSource
	from.resources = parts.Resources("", "", "", "1Gi")
	pod := desiredPod(b, Etcd(), from).Spec
	for _, c := range append(pod.InitContainers, pod.Containers...) {
		want := "256Mi"
		if c.Name == backup.CommandVerify {
			want = "1Gi"
		}
		if got := c.Resources.Limits.Memory().String(); got != want || c.Resources.Limits.Cpu().String() != "2" {
			t.Errorf("container %s has the limits %v", c.Name, c.Resources.Limits)
		}
	}
}

func TestARefusalByAQuotaIsQuoted(t *testing.T) {
	w := newFakeCluster(t, allWell)
	w.must(w.server.Create(context.Background(), newBackup(hourly)))
	o := w.operator()
	o.intercept = func(call string, do func() error) error {
		if call == "create *v1.Pod" {
			return apierrors.NewForbidden(corev1.Resource("pods"), "p", errors.New("exceeded quota: small, requested: limits.cpu=1"))
		}
		return do()
	}
	w.now = testTime.Add(time.Hour)
	o.sync()
	_, _ = o.pass() // its error is what the condition says
	got := meta.FindStatusCondition(w.backup().Status.Conditions, commonv1.ConditionDegraded)
	for _, part := range []string{"exceeded quota: small", "Raise the ResourceQuota", "spec.resources"} {
		if got == nil || got.Status != "True" || !strings.Contains(got.Message, part) {
			t.Errorf("%q is missing in %+v", part, got)
		}
	}
}
