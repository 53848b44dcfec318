package conditions

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

func TestDegradedReportsTheFirstProblem(t *testing.T) {
	urgent, other := &Problem{Reason: "Urgent", Message: "u"}, &Problem{Reason: "Other", Message: "o"}
	for _, c := range []struct {
		name      string
		byUrgency []*Problem
		says      string
	}{
		{"no problem is listed", nil, "False AsExpected"},
		{"each problem is absent", []*Problem{nil, nil}, "False AsExpected"},
		{"the first is absent", []*Problem{nil, other}, "True Other"},
		{"both are present", []*Problem{urgent, other}, "True Urgent"},
	} {
		t.Run(c.name, func(t *testing.T) {
			list := []metav1.Condition{{Type: ready, Status: metav1.ConditionTrue, Reason: "Replicas"}}
			SetDegraded(&list, 1, c.byUrgency...)
			expect(t, list, map[string]string{ready: "True Replicas", degraded: c.says})
		})
	}
}

// Where several places set Degraded, the order of their calls would decide which problem it reports.
func TestOnlySetDegradedSetsDegraded(t *testing.T) {
	sets := regexp.MustCompile(`\bSet\((?:[^()]|\([^()]*\))*ConditionDegraded`)
	var places []string
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for range sets.FindAll(text, -1) {
			places = append(places, path)
		}
		return err
	})
	const only = "../../internal/conditions/problems.go"
	if err != nil || !slices.Equal(places, []string{only, only}) {
		t.Errorf("it is set in %v (%v)", places, err)
	}
}

// Degraded is not what Halt sets: another problem may be more urgent.
func TestHalt(t *testing.T) {
	list := []metav1.Condition{{Type: ready, Status: metav1.ConditionTrue, Reason: "Replicas"}}
	Halt(&list, 1, nil)
	expect(t, list, map[string]string{ready: "True Replicas"})
	Halt(&list, 1, &Problem{Reason: "InvalidSpec", Message: "m"})
	expect(t, list, map[string]string{ready: "False InvalidSpec", progressing: "False InvalidSpec"})
	if meta.FindStatusCondition(list, degraded) != nil {
		t.Errorf("got %+v", list)
	}
}

func TestSetFailedPass(t *testing.T) {
	transient := &Problem{Reason: "Retrying", Message: "m", Transient: true}
	human := &Problem{Reason: "InvalidSpec", Message: "m"}
	was := func(status metav1.ConditionStatus, generation int64) []metav1.Condition {
		return []metav1.Condition{{Type: ready, Status: status, Reason: "Replicas", ObservedGeneration: generation}}
	}
	for _, c := range []struct {
		reason string
		before []metav1.Condition
		p      *Problem
		are    map[string]string
	}{
		{"no problem", was(metav1.ConditionTrue, 2), nil, map[string]string{ready: "True Replicas"}},
		{"this generation was Ready and a transient failure comes", was(metav1.ConditionTrue, 2), transient, map[string]string{
			ready: "True Replicas", progressing: "True Retrying"}},
		{"an older generation was Ready", was(metav1.ConditionTrue, 1), transient, map[string]string{ready: "False Retrying"}},
		{"it was not Ready", was(metav1.ConditionFalse, 2), transient, map[string]string{ready: "False Retrying"}},
		{"the first pass fails", nil, transient, map[string]string{ready: "False Retrying", progressing: "True Retrying"}},
		{"a human is needed, though it was Ready", was(metav1.ConditionTrue, 2), human, map[string]string{
			ready: "False InvalidSpec", progressing: "False InvalidSpec", degraded: "True InvalidSpec"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			computed := []metav1.Condition{{Type: ready, Status: metav1.ConditionTrue, Reason: "Replicas"}}
			SetFailedPass(&computed, c.before, 2, c.p)
			expect(t, computed, c.are)
		})
	}
}

// What ran once and is complete stays so, whatever fails afterwards, such as its cleanup.
func TestAFailedPassKeepsReadyOfWhatIsComplete(t *testing.T) {
	for _, p := range []*Problem{{Reason: "Retrying", Message: "m", Transient: true}, {Reason: "RefusedByServer", Message: "m"}} {
		for _, list := range [][]metav1.Condition{
			{{Type: commonv1.ConditionComplete, Status: metav1.ConditionTrue, Reason: "Done"}},
			{{Type: commonv1.ConditionComplete, Status: metav1.ConditionTrue, Reason: "Done"},
				{Type: ready, Status: metav1.ConditionTrue, Reason: "Verified"}},
		} {
			computed := slices.Clone(list)
			SetFailedPass(&computed, nil, 2, p)
			want, got := meta.FindStatusCondition(list, ready), meta.FindStatusCondition(computed, ready)
			if !equality.Semantic.DeepEqual(want, got) {
				t.Errorf("%s: Ready is %v, not %v", p.Reason, got, want)
			}
		}
	}
}
