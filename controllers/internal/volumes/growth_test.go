package volumes

import (
	"runtime"
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

// claim is a bound one that asks for one size and has another.
func claim(name, asked, has string) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data-" + name}}
	c.Spec.Resources.Requests = storageOf(asked)
	c.Status.Phase, c.Status.Capacity = corev1.ClaimBound, storageOf(has)
	return c
}

func setOf(size string) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{}
	set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{*claim("", size, "0")}
	return set
}

func TestGrowthOf(t *testing.T) {
	pending := claim("a-1", "1Gi", "0")
	pending.Status.Phase = corev1.ClaimPending
	for _, c := range []struct {
		reason             string
		size               string
		first, second      *corev1.PersistentVolumeClaim
		request, undersize []string
		outgrown           bool // by a set that was made for 1Gi
	}{
		{"both are small", "2Gi", claim("a-0", "1Gi", "1Gi"), claim("a-1", "1Gi", "1Gi"), []string{"a-0", "a-1"}, []string{"a-0", "a-1"}, false},
		{"one has asked", "2Gi", claim("a-0", "1Gi", "1Gi"), claim("a-1", "2Gi", "1Gi"), []string{"a-0"}, []string{"a-0", "a-1"}, false},
		{"both have asked", "2Gi", claim("a-0", "2Gi", "1Gi"), claim("a-1", "2Gi", "1Gi"), nil, []string{"a-0", "a-1"}, true},
		{"both have it", "2Gi", claim("a-0", "2Gi", "2Gi"), claim("a-1", "2Gi", "3Gi"), nil, nil, true},
		{"the size in other words", "1024Mi", claim("a-0", "1Gi", "1Gi"), claim("a-1", "1Gi", "1Gi"), nil, nil, false},
		{"less is asked for", "512Mi", claim("a-0", "1Gi", "1Gi"), claim("a-1", "1Gi", "1Gi"), nil, nil, false},
		{"one is not bound yet", "2Gi", claim("a-0", "2Gi", "2Gi"), pending, nil, nil, true},
		{"one is not there", "2Gi", claim("a-0", "2Gi", "2Gi"), nil, nil, nil, true},
	} {
		t.Run(c.reason, func(t *testing.T) {
			g := GrowthOf(map[string]*corev1.PersistentVolumeClaim{"a-1": c.second, "a-0": c.first}, resource.MustParse(c.size))
			outgrown := g.HaveOutgrown(resource.MustParse("1Gi"))
			if !slices.Equal(g.ToRequest, c.request) || !slices.Equal(g.Undersized, c.undersize) || outgrown != c.outgrown {
				t.Errorf("got %+v, outgrown %t", g, outgrown)
			}
		})
	}
}

func TestResizing(t *testing.T) {
	waiting := claim("a-1", "2Gi", "1Gi")
	waiting.Status.Conditions = []corev1.PersistentVolumeClaimCondition{
		{Type: corev1.PersistentVolumeClaimResizing, Status: corev1.ConditionFalse, Message: "over"},
		{Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue, Message: "waiting for the node"}}
	was := []metav1.Condition{{Type: commonv1.ConditionStorageResizing, Status: metav1.ConditionTrue}}
	for _, c := range []struct {
		reason        string
		before        []metav1.Condition
		first, second *corev1.PersistentVolumeClaim
		refusal       string
		want          []string // of StorageResizing, else none
		ready         string   // why not, else nothing is said of it
	}{
		{"they are to grow", nil, claim("a-0", "1Gi", "1Gi"), claim("a-1", "1Gi", "1Gi"), "",
			[]string{"True", commonv1.ReasonResizing, "the volumes of a-0, a-1 are to grow to 2Gi"}, commonv1.ReasonRollingOut},
		{"the storage says what it waits for", nil, claim("a-0", "2Gi", "2Gi"), waiting, "",
			[]string{"True", commonv1.ReasonResizing, "the volumes of a-1 are to grow to 2Gi (data-a-1: waiting for the node)"},
			commonv1.ReasonRollingOut},
		{"one may not grow", nil, claim("a-0", "1Gi", "1Gi"), waiting, "storage.size: no",
			[]string{"True", commonv1.ReasonRefusedByServer, "storage.size: no"}, commonv1.ReasonRefusedByServer},
		{"they have grown", was, claim("a-0", "2Gi", "2Gi"), claim("a-1", "2Gi", "2Gi"), "",
			[]string{"False", commonv1.ReasonResized, "every volume is as large as storage.size asks for"}, ""},
		{"they were never to grow", nil, claim("a-0", "2Gi", "2Gi"), claim("a-1", "2Gi", "2Gi"), "", nil, ""},
	} {
		t.Run(c.reason, func(t *testing.T) {
			g := GrowthOf(map[string]*corev1.PersistentVolumeClaim{"a-0": c.first, "a-1": c.second}, resource.MustParse("2Gi"))
			g.Refusal = c.refusal
			list := slices.Clone(c.before)
			SetResizing(&list, 1, g)
			var got []string
			if is := meta.FindStatusCondition(list, commonv1.ConditionStorageResizing); is != nil {
				got = []string{string(is.Status), is.Reason, is.Message}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v", got)
			}
			unready := ""
			if is := meta.FindStatusCondition(list, commonv1.ConditionReady); is != nil && is.Status == metav1.ConditionFalse {
				unready = is.Reason
			}
			if refused := g.Refused(); unready != c.ready || (refused != nil) != (c.refusal != "") {
				t.Errorf("ready: %q, and Degraded would report %+v", unready, refused)
			}
		})
	}
}

// What the volumes have is what the StatefulSet was made for: growth that was refused
// never came so far, and can be taken back.
func TestVolumesDoNotShrink(t *testing.T) {
	for _, c := range []struct {
		asked string
		set   *appsv1.StatefulSet
		says  string
	}{
		{"2Gi", setOf("1Gi"), ""},
		{"1Gi", setOf("1Gi"), ""},
		{"1024Mi", setOf("1Gi"), ""},
		{"1Gi", &appsv1.StatefulSet{}, ""},
		{"1Gi", setOf("2Gi"), "storage.size: volumes cannot shrink, and stay as they are: set it to 2Gi or more"},
	} {
		shrinking := Shrinking(resource.MustParse(c.asked), c.set)
		if (shrinking != nil) != (c.says != "") || shrinking != nil &&
			(shrinking.Message != c.says || shrinking.Reason != commonv1.ReasonInvalidSpec) {
			t.Errorf("%s: %+v", c.asked, shrinking)
		}
	}
}

// One that is being deleted is not deleted again.
func TestOnlyAnExistingStatefulSetIsRecreated(t *testing.T) {
	set := setOf("1Gi")
	if size, stands := MadeFor(&appsv1.StatefulSet{}); stands {
		t.Errorf("without volumes it was made for %s", size.String())
	}
	if size, stands := MadeFor(set); !stands || size.String() != "1Gi" {
		t.Errorf("it was made for %s", size.String())
	}
	set.DeletionTimestamp = ptr.To(metav1.Now())
	if _, stands := MadeFor(set); stands {
		t.Error("it would be deleted twice")
	}
}

func TestSizeOfNew(t *testing.T) {
	asked := resource.MustParse("2Gi")
	for want, set := range map[string]*appsv1.StatefulSet{"1Gi": setOf("1Gi"), "2Gi": {}} {
		if got := SizeOfNew(set, asked); got.String() != want {
			t.Errorf("got %s, not %s", got.String(), want)
		}
	}
}

// A claim can ask for a number of two million digits. Comparing sizes must not compute it: counted in bytes.
func TestSizesAreComparedWithoutComputingThem(t *testing.T) {
	const huge = "1e2000000"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	g := GrowthOf(map[string]*corev1.PersistentVolumeClaim{"a-0": claim("a-0", huge, "1Gi")}, resource.MustParse("2Gi"))
	shrinking := Shrinking(resource.MustParse("2Gi"), setOf(huge))
	outgrown := g.HaveOutgrown(resource.MustParse(huge))
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 64<<10 {
		t.Errorf("%d bytes were allocated", allocated)
	}
	if len(g.ToRequest) != 0 || len(g.Undersized) != 1 || outgrown || shrinking == nil {
		t.Errorf("%+v, outgrown: %t", g, outgrown)
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{"1.5Gi", "1536Mi", 0}, {"1Gi", "1G", 1}, {huge, "1Gi", 1}, {"1Gi", huge, -1}, {huge, huge, 0},
		{"9223372036854775807", "9223372036854775806", 1}} {
		if is := compare(resource.MustParse(c.a), resource.MustParse(c.b)); is != c.want {
			t.Errorf("%s and %s: %d", c.a, c.b, is)
		}
	}
}
