package config

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/fixture"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
	"github.com/mainstay-operator/mainstay-operator/test/authority"
)

// What members refuse is not handed out in the place of a copy that is lost: the operator would be locked out.
func TestMembersKeepTheirAuthorityWhenOurCopyIsLost(t *testing.T) {
	const none, required = databasev1alpha1.EtcdClientAuthNone, databasev1alpha1.EtcdClientAuthRequired
	one, two := authority.New("one"), authority.New("two")
	running := []corev1.ContainerStatus{{Name: AppName, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	byOne, byTwo, both := pki.PublishedIn(fixture.Issue(one)), pki.PublishedIn(fixture.Issue(two)), pki.PublishedIn(fixture.Issue(two))
	both.Authorities = pki.MergeAuthorities(both, byOne)
	firstAlone := strings.Join(pki.Fingerprints(one.PEM()), ",")
	for _, c := range []struct {
		name   string
		auth   databasev1alpha1.EtcdClientAuth
		theirs string // authorities that the members take from clients
		status []corev1.ContainerStatus
		found  pki.Identity // in the user's Secret
		want   string
	}{
		{"another authority's", required, firstAlone, running, byTwo, `Secret "chosen" has another authority, whose certificates e-0 refuse`},
		{"another authority's, with the former one next to it", required, firstAlone, running, both, "whose certificates e-0 refuse"},
		{"one by the same authority", required, firstAlone, running, byOne, ""},
		{"one by an authority that they take, too", required, strings.Join(pki.Fingerprints(both.Authorities), ","), running, both, ""},
		{"clients show none", none, "", running, byTwo, ""},
		{"no server has run", required, firstAlone, nil, byTwo, ""},
		{"nothing to hand out", required, firstAlone, running, pki.Identity{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "e-0", Annotations: map[string]string{AnnotationClientAuthorities: c.theirs}},
				Status: corev1.PodStatus{ContainerStatuses: c.status}}
			step := CertificatesLost(Resolve(fixture.Secured(c.auth), &appsv1.StatefulSet{}, nil), []corev1.Pod{pod}, c.found, time.Now())
			if (step == nil) != (c.want == "") {
				t.Fatalf("got %+v", step)
			}
			if step != nil && (step.Reason != commonv1.ReasonClientCertificatesLost || !strings.Contains(step.Message, c.want)) {
				t.Errorf("got %+v", step)
			}
		})
	}
}
