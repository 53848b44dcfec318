package status

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
	databasev1alpha1 "github.com/mainstay-operator/mainstay-operator/api/database/v1alpha1"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/config"
	"github.com/mainstay-operator/mainstay-operator/controllers/etcd/internal/membership"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/pki"
	"github.com/mainstay-operator/mainstay-operator/controllers/internal/volumes"
)

// seen is what a status is made from, which a row changes.
type seen struct {
	e    *databasev1alpha1.EtcdCluster
	w    membership.World
	next membership.Step
	set  *appsv1.StatefulSet
	pods []corev1.Pod
	// refusal of members' pods.
	refusal string
	// growth of the volumes.
	growth volumes.Growth
	// certificates that clients are shown.
	certificates pki.Certificates
	lagging      []string
	logins       config.Logins
}

// newSeen is a cluster of three at rest: a-0 leads.
func newSeen() *seen {
	s := &seen{
		e: &databasev1alpha1.EtcdCluster{
			ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "ns", Generation: 2},
			Spec:       databasev1alpha1.EtcdClusterSpec{Version: "3.6"},
			Status: databasev1alpha1.EtcdClusterStatus{TargetVersion: "3.6.16", TargetImage: "etcd:6",
				Membership: &databasev1alpha1.EtcdMembership{ClusterID: "c"}},
		},
		w:    membership.World{Listed: true},
		next: membership.Step{Do: membership.Idle},
		set: &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Generation: 1},
			Status: appsv1.StatefulSetStatus{ObservedGeneration: 1, Replicas: 3}},
	}
	for i := range uint64(3) {
		name, id := fmt.Sprintf("a-%d", i), 100+i
		s.w.Members = append(s.w.Members, membership.Member{
			Name:   name,
			Record: &databasev1alpha1.EtcdRecordedMember{Name: name, ID: membership.FormatID(id)},
			Listed: &membership.ListedMember{ID: id},
			Pod:    membership.Pod{UID: types.UID("pod-" + name), Permit: "{}", HasRun: true, Ready: true},
			View:   membership.View{Answered: true, ID: id, Leader: 100, Version: membership.Version{Minor: 6, Patch: 16}, ClusterVersion: "3.6"},
		})
	}
	return s
}

func (s *seen) silence(ordinals ...int) {
	for _, i := range ordinals {
		s.w.Members[i].View = membership.View{}
	}
}

// showCertificates has the cluster serve clients by TLS, and members lag behind.
func (s *seen) showCertificates(lagging ...string) {
	s.e.Spec.TLS = &databasev1alpha1.EtcdTLS{SecretName: "chosen"}
	i := pki.Identity{Certificate: []byte("c")}
	s.certificates = pki.Certificates{Published: i, Wanted: i}
	s.lagging = lagging
}

// logIn has the cluster require a login, by a password that is published.
func (s *seen) logIn() {
	s.e.Spec.Auth = &databasev1alpha1.EtcdAuth{SecretName: "chosen"}
	s.e.Status.Login = &databasev1alpha1.EtcdLogin{Required: true, User: "application-a"}
	s.logins = config.Logins{TokenKey: "k", Published: config.Login{User: "application-a", Password: "p"}, Chosen: "p"}
}

// use lets members use that share of the quota, in percent, and lets their files have that size.
func (s *seen) use(used, size int64, ordinals ...int) {
	for _, i := range ordinals {
		s.w.Members[i].View.DBUsed, s.w.Members[i].View.DBSize = (used*(2<<30)+99)/100, size*(2<<30)/100 // the least of that share
	}
}

// warned lets the status before say that a human must act.
func (s *seen) warned(reason string) {
	meta.SetStatusCondition(&s.e.Status.Conditions, metav1.Condition{Type: degraded, Status: metav1.ConditionTrue, Reason: reason})
}

func (s *seen) block(reason string) {
	s.next = membership.Step{Do: membership.Block, Reason: reason, Message: "do this"}
}

func (s *seen) inputs() Inputs {
	spec := config.Resolve(s.e, &appsv1.StatefulSet{}, []string{"etcd:5", "etcd:6", "etcd:7"})
	return Inputs{Cluster: s.e, Situation: membership.Situation{Spec: spec, Status: &s.e.Status, World: s.w}, Next: s.next,
		Set: s.set, Pods: s.pods, Refusal: s.refusal, Growth: s.growth, Certificates: s.certificates, Lagging: s.lagging, Logins: s.logins}
}

// claimTemplates are those of a StatefulSet that was made for volumes of that size.
func claimTemplates(size string) []corev1.PersistentVolumeClaim {
	return []corev1.PersistentVolumeClaim{{Spec: corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}}}}}
}

const (
	ready       = commonv1.ConditionReady
	available   = commonv1.ConditionAvailable
	progressing = commonv1.ConditionProgressing
	degraded    = commonv1.ConditionDegraded
)

// row is what a pass saw, and the conditions that follow.
type row struct {
	name    string
	arrange func(*seen)
	want    map[string]string // how the status, the reason and the message of a condition start; empty for none
}

func checkConditions(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			s := newSeen()
			r.arrange(s)
			list := New(s.inputs()).Conditions
			for kind, want := range r.want {
				got := ""
				if c := meta.FindStatusCondition(list, kind); c != nil {
					got = fmt.Sprintf("%s %s %s", c.Status, c.Reason, c.Message)
				}
				if !strings.HasPrefix(got, want) || want == "" && got != "" {
					t.Errorf("%s is %q, not %q", kind, got, want)
				}
			}
		})
	}
}
