package fleet

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/mainstay-operator/mainstay-operator/controllers/redis/internal/fixture"
)

// A recreated pod has the name of the one before, whose process may live on.
func TestAMasterWhosePodIsGoneIsAGhost(t *testing.T) {
	s := fixture.Healthy(1)
	asked, end := context.WithCancel(t.Context())
	end() // no one is there to be asked
	for uid, want := range map[types.UID]bool{s.Nodes[0].PodUID: false, "another": true} {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a-0", UID: uid}}
		f := startOperator(clock.RealClock{}).fleetOf(s.Redis)
		f.Pods, f.Set, f.effects = []corev1.Pod{pod}, &appsv1.StatefulSet{}, scripted{}
		f.open()
		f.ask(asked)
		if got := f.Ghost != nil; got != want || got && f.Ghost.PodUID != s.Status.Replication.Master.PodUID {
			t.Errorf("a pod %s: ghost %+v", uid, f.Ghost)
		}
		f.closeConnections()
	}
}
