package conditions

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/mainstay-operator/mainstay-operator/api/common/v1"
)

const (
	stalled     = commonv1.ConditionStalled
	reconciling = commonv1.ConditionReconciling
)

func TestWhichConditionsKstatusGets(t *testing.T) {
	for _, c := range []struct {
		name string
		are  string // the conditions that are True; after a minus sign those that are False
		want string
	}{
		{"without any condition there is nothing to add", "", ""},
		{"what is Ready is neither", "Ready -Progressing -Degraded", ""},
		{"what has Ready needs no Reconciling", "-Ready Progressing -Degraded", ""},
		{"a scheduled backup is Ready while the next is made", "Ready Progressing -Degraded", ""},
		{"what needs somebody and is Ready is not stalled", "Ready -Progressing Degraded", ""},
		{"what needs somebody and still tries is not stalled", "-Ready Progressing Degraded", ""},
		{"what needs somebody and does nothing is stalled", "-Ready -Progressing Degraded", stalled},
		{"what waits for a pause to end is not stalled", "-Ready -Progressing -Degraded Paused", ""},
		{"a run is reconciling", "Progressing -Degraded", reconciling},
		{"a run whose pod fails is still reconciling", "Progressing Degraded", reconciling},
		{"a run that needs somebody before it starts is stalled", "-Progressing Degraded", stalled},
		{"a run that is suspended is neither", "-Progressing -Degraded Suspended", ""},
		{"a run that is complete is neither", "-Progressing -Degraded Complete", ""},
		{"a run that is complete is neither though its cleanup needs somebody", "-Progressing Degraded Complete", ""},
		{"a run that is complete is neither while its cleanup is retried", "Progressing -Degraded Complete", ""},
		{"a run that failed is stalled", "-Progressing -Degraded Failed", stalled},
		{"a run that failed is stalled while a later call is retried", "-Ready Progressing -Degraded Failed", stalled},
		{"a run that failed is not reconciling", "Progressing Failed", stalled},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, before := range []string{"", stalled, reconciling} {
				var list []metav1.Condition
				for _, word := range append(strings.Fields(c.are), strings.Fields(before)...) {
					conditionType, isFalse := strings.CutPrefix(word, "-")
					Set(&list, 7, conditionType, !isFalse, "Because", "of "+conditionType)
				}
				setKstatus(&list)
				var got []string
				for _, conditionType := range []string{stalled, reconciling} {
					if meta.FindStatusCondition(list, conditionType) != nil {
						got = append(got, conditionType)
					}
				}
				if !slices.Equal(got, strings.Fields(c.want)) {
					t.Errorf("after %q: got %v", before, got)
				}
			}
		})
	}
}

func TestStalledAndReconcilingHaveTheWordsOfWhatTheyFollowFrom(t *testing.T) {
	for conditionType, source := range map[string]string{stalled: degraded, reconciling: progressing} {
		var list []metav1.Condition
		Set(&list, 6, source, true, "Because", "of this")
		Set(&list, 6, conditionType, true, "Former", "words")
		setKstatus(&list)
		got := meta.FindStatusCondition(list, conditionType)
		if got == nil || got.Status != metav1.ConditionTrue || got.Reason != "Because" || got.Message != "of this" ||
			got.ObservedGeneration != 6 {
			t.Errorf("%s: got %+v", conditionType, got)
		}
	}
}

// A kind without Ready removes it at the start of each pass. If that changed the order, each retry would write the status.
func TestAPassThatFailsAgainChangesNoCondition(t *testing.T) {
	pass := func(before []metav1.Condition) []metav1.Condition {
		list := slices.Clone(before)
		meta.RemoveStatusCondition(&list, ready)
		Set(&list, 1, progressing, true, "Pending", "it waits")
		SetDegraded(&list, 1)
		SetFailedPass(&list, before, 1, &Problem{Reason: commonv1.ReasonRefusedByServer, Message: "a quota"})
		Finish(&list, before)
		return list
	}
	first := pass(nil)
	if again := pass(first); !slices.Equal(again, first) {
		t.Errorf("%+v became %+v", first, again)
	}
}
