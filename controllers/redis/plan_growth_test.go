package redis

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

func storageOf(size string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
}

// growing is a healthy set of 2 whose storage.size was 1Gi and is 2Gi.
func growing() *scene {
	s := withVolumes(healthy(2))
	s.Spec.Storage.Size = resource.MustParse("2Gi")
	for name := range s.volumes {
		claims(s, name, "1Gi", "1Gi")
	}
	return s
}

func claims(s *scene, name, asked, has string) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{}
	claim.Name = claimPrefix + name
	claim.Spec.Resources.Requests = storageOf(asked)
	claim.Status.Phase, claim.Status.Capacity = corev1.ClaimBound, storageOf(has)
	s.volumes[name] = volume{stamp: s.volumes[name].stamp, claim: claim}
	return claim
}

func TestGrowth(t *testing.T) {
	for _, c := range []struct {
		reason         string
		given          func(*scene)
		claims, behind []string
		outgrown       bool
	}{
		{"both are small", func(*scene) {}, []string{"a-0", "a-1"}, []string{"a-0", "a-1"}, false},
		{"both have asked", func(s *scene) { claims(s, "a-0", "2Gi", "1Gi"); claims(s, "a-1", "2Gi", "1Gi") }, nil, []string{"a-0", "a-1"}, true},
		{"both have it", func(s *scene) { claims(s, "a-0", "2Gi", "2Gi"); claims(s, "a-1", "2Gi", "3Gi") }, nil, nil, true},
		{"the size in other words", func(s *scene) { s.Spec.Storage.Size = resource.MustParse("1024Mi") }, nil, nil, false},
		{"one is not bound yet", func(s *scene) {
			claims(s, "a-0", "2Gi", "2Gi")
			claims(s, "a-1", "1Gi", "0").Status.Phase = corev1.ClaimPending
		}, nil, nil, true},
		{"a volume of a node that was scaled away", func(s *scene) {
			claims(s, "a-0", "2Gi", "2Gi")
			claims(s, "a-1", "2Gi", "2Gi")
			claims(s, "a-2", "1Gi", "1Gi")
		}, nil, nil, true},
		{"not while a pod is outdated", func(s *scene) {
			claims(s, "a-0", "2Gi", "2Gi")
			claims(s, "a-1", "2Gi", "2Gi")
			s.members[1].outdated = true
		}, nil, nil, false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := growing()
			c.given(s)
			set := &appsv1.StatefulSet{}
			set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{}}
			set.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests = storageOf("1Gi")
			g := s.situation().volumeGrowth()
			if !slices.Equal(g.toRequest, c.claims) || !slices.Equal(g.undersized, c.behind) || s.situation().mustRemakeSet(set) != c.outgrown {
				t.Errorf("got %+v, outgrown %t", g, s.situation().mustRemakeSet(set))
			}
			set.DeletionTimestamp = ptr.To(metav1.Now())
			if s.situation().mustRemakeSet(set) {
				t.Error("it would be deleted twice")
			}
		})
	}
}

func TestStorageResizing(t *testing.T) {
	s := growing()
	says := func(status metav1.ConditionStatus, reason, message string) {
		t.Helper()
		var list []metav1.Condition
		if status == metav1.ConditionFalse {
			list = []metav1.Condition{{Type: commonv1.ConditionStorageResizing, Status: metav1.ConditionTrue}}
		}
		setStorageResizing(&list, s.Generation, s.situation())
		c := meta.FindStatusCondition(list, commonv1.ConditionStorageResizing)
		if c == nil || c.Status != status || c.Reason != reason || c.Message != message {
			t.Errorf("got %+v", c)
		}
	}
	says(metav1.ConditionTrue, commonv1.ReasonResizing, "the volumes of a-0, a-1 are to grow to 2Gi")
	claims(s, "a-0", "2Gi", "2Gi")
	claims(s, "a-1", "2Gi", "1Gi").Status.Conditions = []corev1.PersistentVolumeClaimCondition{{
		Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue, Message: "waiting for the node"}}
	says(metav1.ConditionTrue, commonv1.ReasonResizing, "the volumes of a-1 are to grow to 2Gi (data-a-1: waiting for the node)")
	s.growthRefusal = "storage.size: no"
	says(metav1.ConditionTrue, commonv1.ReasonRefusedByServer, "storage.size: no")
	s.growthRefusal = ""
	claims(s, "a-1", "2Gi", "2Gi")
	says(metav1.ConditionFalse, commonv1.ReasonResized, "every volume is as large as storage.size asks for")

	var none []metav1.Condition
	if setStorageResizing(&none, s.Generation, s.situation()); len(none) > 0 {
		t.Errorf("it was never to grow: %v", none)
	}
}

// What the volumes have is what the StatefulSet was made for: growth that was refused
// never came so far, and can be taken back.
func TestVolumesDoNotShrink(t *testing.T) {
	for _, c := range []struct{ asked, made, says string }{
		{"2Gi", "1Gi", ""},
		{"1Gi", "1Gi", ""},
		{"1024Mi", "1Gi", ""},
		{"1Gi", "2Gi", "storage.size: volumes cannot shrink, and stay as they are: set it to 2Gi or more"},
	} {
		s := growing()
		s.Spec.Storage.Size = resource.MustParse(c.asked)
		for name := range s.volumes {
			claims(s, name, c.made, c.made)
		}
		set := &appsv1.StatefulSet{}
		set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{}}
		set.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests = storageOf(c.made)
		var list []metav1.Condition
		refuseShrinking(&list, s.Generation, resolve(s.Redis), set)
		degraded := meta.FindStatusCondition(list, commonv1.ConditionDegraded)
		if said := degraded != nil && degraded.Status == metav1.ConditionTrue; said != (c.says != "") || said && degraded.Message != c.says {
			t.Errorf("%s of %s: %v", c.asked, c.made, list)
		}
		if c.says != "" && (len(s.situation().volumeGrowth().toRequest) > 0 || s.situation().mustRemakeSet(set)) {
			t.Errorf("%s of %s: something would be done", c.asked, c.made)
		}
	}
}

// A StatefulSet made anew takes its pods back one by one: none of them is lost meanwhile.
func TestPodsOnRecord(t *testing.T) {
	r := healthy(2).Redis
	if !isOnRecord(r, "uid-a-0") || !isOnRecord(r, "uid-a-1") || isOnRecord(r, "uid-a-2") {
		t.Error("the pods on record are those of the master and the sync set")
	}
	r.Status.Replication = nil
	if isOnRecord(r, "uid-a-0") {
		t.Error("nothing is on record")
	}
}
