package converge

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestMemoryKnowsWhatIsOlderThanOurLastWrite(t *testing.T) {
	owner := types.NamespacedName{Namespace: "n", Name: "a"}
	for _, c := range []struct {
		reason, wrote, cached string
		newer                 bool
	}{
		{"never written", "", "5", false},
		{"the cache lags", "10", "9", true},
		{"the cache has our write", "10", "10", false},
		{"somebody wrote after us", "10", "11", false},
		{"versions are numbers, not text", "10", "9999", false},
		{"a version that is none", "10", "x", false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			var m lastWrites
			if c.wrote != "" {
				m.noteWrite(owner, ownerItself, lastWrite{version: c.wrote})
			}
			cached := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ResourceVersion: c.cached}}
			if got := m.isStale(owner, ownerItself, cached); got != c.newer {
				t.Errorf("newer is %t", got)
			}
			if m.isStale(owner, "ConfigMap/b", cached) {
				t.Error("one place speaks for another")
			}
		})
	}
}

func TestMemoryForgetsAnOwnerWhole(t *testing.T) {
	var m lastWrites
	owner, other := types.NamespacedName{Name: "a"}, types.NamespacedName{Name: "b"}
	m.noteWrite(owner, ownerItself, lastWrite{version: "1"})
	m.noteWrite(owner, "ConfigMap/a", lastWrite{version: "2"})
	m.noteWrite(other, ownerItself, lastWrite{version: "3"})
	m.forget(owner)
	if m.get(owner, ownerItself) != (lastWrite{}) || m.get(owner, "ConfigMap/a") != (lastWrite{}) || len(m.byOwner) != 1 {
		t.Errorf("left over: %v", m.byOwner)
	}
}
